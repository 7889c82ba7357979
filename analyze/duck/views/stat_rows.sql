-- stat_rows: the rows of runs that enter statistics, with the figures that do.
--
-- Of a cold case these are its in_cold_stats rows, together: prefix_cache_hit
-- is NULL. Of any other case they are its in_stats rows, and each kind of hit
-- is a group of its own.
--
-- counted: the number of generated tokens was counted by somebody. Where it is
-- an estimate the times of the row are good and its token rates are not: they
-- are NULL. So is prompt_tps of an exact hit, where nothing was prefilled.
-- tok_per_sec is 0.0 where it could not be measured, which is no speed.
create or replace temp view stat_rows as
select host, date, session_id, target_id, case_id, prefix_cache_hit, batch_id, counted,
       case when in_prefill_stats then prompt_tps end as prompt_tps,
       case when counted then generation_tps end as generation_tps,
       case when counted then generation_tps_client end as generation_tps_client,
       case when counted then generation_tps_server end as generation_tps_server,
       case when counted then decode_tps end as decode_tps,
       case when counted then nullif(tok_per_sec, 0e0) end as tok_per_sec,
       case when counted then mixed_tps end as mixed_tps,
       ttft_ms,
       ttft_client_ms,
       first_chunk_ms,
       first_text_ms,
       total_duration_ms,
       response_ms,
       generation_duration_ms,
       load_duration_ms,
       itl_p50_ms,
       itl_p99_ms,
       itl_max_ms,
       elapsed_s
from (
  select host, date, session_id, target_id, case_id, batch_id,
         case when cache_mode <> 'cold' then coalesce(prefix_cache_hit, 'unknown') end as prefix_cache_hit,
         coalesce(tokens_source, 'none') <> 'estimate' as counted,
         in_prefill_stats,
         prompt_tps, generation_tps, generation_tps_client, generation_tps_server, decode_tps, tok_per_sec,
         mixed_tps, ttft_ms, ttft_client_ms, first_chunk_ms, first_text_ms, total_duration_ms,
         response_ms, generation_duration_ms, load_duration_ms, itl_p50_ms, itl_p99_ms, itl_max_ms,
         elapsed_s
  from runs
  where case when cache_mode = 'cold' then in_cold_stats else in_stats end
) r;
