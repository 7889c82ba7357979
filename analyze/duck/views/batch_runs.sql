-- batch_runs: every measured batch, warm-ups left out, with what it belongs to
-- on the same row: session, target and case, as in runs. It has the figures
-- that are of all requests of a batch together: energy, agg_wall_tps, throttled.
--
-- A batch has many requests: joined with runs its figures would be counted once
-- a request.
create or replace temp view batch_runs as
select b.session_id, b.host, b.date,
       -- session
       s.started_at, s.ended_at, s.status as session_status, s.hw_chip, s.hw_model, s.cpu_cores, s.gpu_cores,
       s.ram_bytes, s.os_name, s.os_version, s.power_mode, s.on_battery, s.profile, s.label, s.tags, s.note,
       s.client_calibration_json,
       -- target
       t.target_id, t.engine, t.engine_version, t.driver, t.endpoint, t.model_id, t.model_format, t.model_quantization,
       t.placement_sharding, t.placement_instance_meta, t.placement_nodes, t.instance_id,
       t.context_tokens, t.model_size_bytes, t.model_gpu_bytes, t.max_streams, t.power_watts, t.power_scope as target_power_scope, t.idle_watts,
       -- case
       c.case_id, c.pp, c.tg, c.template_head_tokens, c.concurrency, c.cache_mode, c.cold_method, c.eos_ban,
       c.prompt_kind, c.prompt_source, c.prompt_hash, c.streaming,
       -- batch
       b.batch_id, b.segment, b.start_ns, b.end_ns, b.repeat_index, b.requests, b.failed, b.batch_wall_s,
       b.agg_gen_tps, b.agg_wall_tps, b.agg_steady_tps, b.dispatch_spread_us,
       b.energy_j, b.energy_low_j, b.energy_high_j, b.energy_partial_j, b.energy_net_j, b.energy_coverage,
       b.energy_null_reason, b.energy_indicative, b.avg_power_w, b.power_scope, b.power_source,
       b.j_per_output_token, b.j_per_total_token, b.prefill_j_per_prompt_token,
       b.speed_limit_pct, b.throttled, b.client_cpu_pct, b.flags,
       -- imported
       c.depth, s.import_format, s.import_tool, s.import_tool_version, s.import_file
from batches b
join cases c on c.host = b.host and c.date = b.date and c.session_id = b.session_id and c.case_id = b.case_id
join targets t on t.host = c.host and t.date = c.date and t.session_id = c.session_id and t.target_id = c.target_id
join sessions s on s.host = b.host and s.date = b.date and s.session_id = b.session_id
where not coalesce(b.warmup, false);
