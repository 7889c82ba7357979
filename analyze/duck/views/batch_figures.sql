-- batch_figures: the median of each metric over the requests of one batch, and
-- the figures that a batch has of its own (agg_wall_tps, energy_j, ...).
--
-- Those count for the group of its requests, and for each group where a batch of
-- a prefix case has hits of several kinds. They are NULL where they hang on a
-- count of tokens that is an estimate.
create or replace temp view batch_figures as
select g.host, g.date, g.session_id, g.target_id, g.case_id, g.prefix_cache_hit, g.batch_id, g.counted,
       g.prompt_tps, g.generation_tps, g.generation_tps_client, g.generation_tps_server, g.decode_tps, g.tok_per_sec,
       g.mixed_tps, g.ttft_ms, g.ttft_client_ms, g.first_chunk_ms, g.first_text_ms, g.total_duration_ms,
       g.response_ms, g.generation_duration_ms, g.load_duration_ms, g.itl_p50_ms, g.itl_p99_ms, g.itl_max_ms,
       g.elapsed_s,
       b.batch_wall_s,
       case when g.counted then b.agg_gen_tps end as agg_gen_tps,
       case when g.counted then b.agg_wall_tps end as agg_wall_tps,
       case when g.counted then b.agg_steady_tps end as agg_steady_tps,
       b.dispatch_spread_us,
       b.energy_j,
       b.avg_power_w,
       case when g.counted then b.j_per_output_token end as j_per_output_token,
       case when g.counted then b.j_per_total_token end as j_per_total_token,
       b.prefill_j_per_prompt_token
from (
  select host, date, session_id, target_id, case_id, prefix_cache_hit, batch_id, bool_and(counted) as counted,
         median(prompt_tps) as prompt_tps,
         median(generation_tps) as generation_tps,
         median(generation_tps_client) as generation_tps_client,
         median(generation_tps_server) as generation_tps_server,
         median(decode_tps) as decode_tps,
         median(tok_per_sec) as tok_per_sec,
         median(mixed_tps) as mixed_tps,
         median(ttft_ms) as ttft_ms,
         median(ttft_client_ms) as ttft_client_ms,
         median(first_chunk_ms) as first_chunk_ms,
         median(first_text_ms) as first_text_ms,
         median(total_duration_ms) as total_duration_ms,
         median(response_ms) as response_ms,
         median(generation_duration_ms) as generation_duration_ms,
         median(load_duration_ms) as load_duration_ms,
         median(itl_p50_ms) as itl_p50_ms,
         median(itl_p99_ms) as itl_p99_ms,
         median(itl_max_ms) as itl_max_ms,
         median(elapsed_s) as elapsed_s
  from stat_rows
  group by host, date, session_id, target_id, case_id, prefix_cache_hit, batch_id
) g
join batches b on b.host = g.host and b.date = g.date and b.session_id = g.session_id and b.batch_id = g.batch_id;
