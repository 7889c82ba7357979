-- runs: every measured request, warm-ups left out, with what it belongs to on
-- the same row: session, target, case and batch.
--
-- The small tables are joined with each other first, so that each of millions
-- of requests looks up one row.
--
-- host and date are in every join. They are the folders of the dataset, so a
-- filter on them decides which files are opened at all. DuckDB carries it to
-- all four tables where it is an equation or a range, and to one of them where
-- it is a list or an OR.
--
-- Figures of a batch (agg_wall_tps, energy_j, ...) are not here: on the row of
-- each request they would be counted once a request. They are in batch_runs.
create or replace temp view runs as
select r.session_id, r.host, r.date,
       -- session
       s.started_at, s.ended_at, s.status as session_status, s.hw_chip, s.hw_model, s.cpu_cores, s.gpu_cores,
       s.ram_bytes, s.os_name, s.os_version, s.power_mode, s.on_battery, s.profile, s.label, s.tags, s.note,
       s.client_calibration_json,
       -- target
       t.target_id, t.engine, t.engine_version, t.driver, t.endpoint, t.model_id, t.model_format, t.model_quantization,
       t.placement_sharding, t.placement_instance_meta, t.placement_nodes, t.instance_id,
       t.context_tokens, t.model_size_bytes, t.model_gpu_bytes, t.max_streams, t.power_watts, t.power_scope, t.idle_watts,
       -- case
       c.case_id, c.pp, c.tg, c.template_head_tokens, c.concurrency, c.cache_mode, c.cold_method, c.eos_ban,
       c.prompt_kind, c.prompt_source, c.prompt_hash, c.streaming,
       -- batch
       r.batch_id, r.repeat_index, r.client_cpu_pct, r.speed_limit_pct, r.throttled, r.batch_flags,
       -- request
       r.request_id, r.segment, r.start_ns, r.end_ns, r.concurrent_index, r.status, r.error_kind, r.error, r.http_status,
       r.retry_after_s, r.served_model, r.flags, r.pp_tokens, r.prompt_tokens, r.tokens_generated, r.tokens_source,
       r.reasoning_tokens, r.cached_tokens, r.prefix_cache_hit, r.in_stats, r.in_cold_stats, r.in_prefill_stats,
       r.ttft_ms, r.ttft_client_ms, r.first_chunk_ms, r.first_text_ms, r.total_duration_ms, r.response_ms,
       r.generation_duration_ms, r.load_duration_ms, r.prompt_tps, r.prompt_tps_source, r.generation_tps,
       r.generation_tps_source, r.generation_tps_client, r.generation_tps_server, r.decode_tps, r.tok_per_sec,
       r.elapsed_s, r.itl_p50_ms, r.itl_p99_ms, r.itl_max_ms, r.chunks, r.peak_memory_bytes, r.finish_reason,
       r.output_text_preview, r.server_json, r.stamp_source,
       -- imported
       c.depth, r.mixed_tps, r.stated, r.stated_rule, r.stated_sd, r.stated_n, s.import_format, s.import_tool, s.import_tool_version, s.import_file
from requests r
join (cases c
  join targets t on t.host = c.host and t.date = c.date and t.session_id = c.session_id and t.target_id = c.target_id
  join sessions s on s.host = c.host and s.date = c.date and s.session_id = c.session_id)
  on c.host = r.host and c.date = r.date and c.session_id = r.session_id and c.case_id = r.case_id
where not coalesce(r.warmup, false);
