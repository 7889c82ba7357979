-- stat_rows: the rows of runs that enter statistics, with what summary needs
-- to know of each.
--
-- Of a cold case these are its in_cold_stats rows, together: prefix_cache_hit
-- is NULL. Of any other case they are its in_stats rows, and each kind of hit
-- is a group of its own.
--
-- counted: the number of generated tokens was counted by somebody. Where it is
-- an estimate the times of the row are good and its token rates are not.
create or replace temp view stat_rows as
select host, date, session_id, target_id, case_id, batch_id,
       case when cache_mode <> 'cold' then coalesce(prefix_cache_hit, 'unknown') end as prefix_cache_hit,
       coalesce(tokens_source, 'none') <> 'estimate' as counted,
       in_prefill_stats,
       prompt_tps, generation_tps, generation_tps_client, generation_tps_server, decode_tps, tok_per_sec,
       mixed_tps, ttft_ms, ttft_client_ms, first_chunk_ms, first_text_ms, total_duration_ms,
       response_ms, generation_duration_ms, load_duration_ms, itl_p50_ms, itl_p99_ms, itl_max_ms,
       elapsed_s
from runs
where case when cache_mode = 'cold' then in_cold_stats else in_stats end;
