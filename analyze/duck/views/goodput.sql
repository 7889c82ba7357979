-- goodput: one row for each measured request of a streamed case, with the times
-- that a user waits, to be held against any limits:
--
--   select engine, model_id, concurrency, count(*) as requests,
--          count(*) filter (where ttft_client_ms <= 500 and tpot_ms <= 50) / count(*) as share,
--          count(*) filter (where ttft_client_ms <= 500 and tpot_ms <= 50) / sum(wall_share_s) as good_per_s
--   from goodput group by all order by all
--
-- The times are those of our own clock. They are NULL where the request failed
-- or is invalid, and where no stream came though one was asked for, all but
-- response_ms are. NULL is within no limit, and such requests count among all.
-- Warm-ups are left out.
--
-- tpot_ms is the mean time for each token after the first. Where the tokens
-- were not counted, or came within 10 ms, it is the longest gap, which the mean
-- is not above. itl_ms is the 99th percentile of the gaps between arrivals, or
-- the longest where they are under 100, itl_max_ms the longest. An answer that
-- came in one piece has no gap: all three are 0.
--
-- wall_share_s is the time of a batch from its start to its last answer,
-- divided by its requests: its sum over whole batches is the time that they
-- took, pauses left out.
create or replace temp view goodput as
select r.session_id, r.host, r.date, r.target_id, r.case_id, r.batch_id, r.request_id,
       r.label, r.tags, r.engine, r.engine_version, r.model_id, r.model_quantization,
       r.pp, r.tg, r.concurrency, r.cache_mode, r.prompt_kind, r.status, r.error_kind,
       case when r.status = 'ok' then r.ttft_client_ms end as ttft_client_ms,
       case when r.status <> 'ok' then null
            when r.chunks = 1 then 0e0
            when coalesce(r.tokens_source, 'none') <> 'estimate' then coalesce(1e3 / nullif(r.generation_tps_client, 0e0), r.itl_max_ms)
            else r.itl_max_ms end as tpot_ms,
       case when r.status <> 'ok' then null when r.chunks = 1 then 0e0 else coalesce(r.itl_p99_ms, r.itl_max_ms) end as itl_ms,
       case when r.status <> 'ok' then null when r.chunks = 1 then 0e0 else r.itl_max_ms end as itl_max_ms,
       case when r.status = 'ok' then r.response_ms end as response_ms,
       b.batch_wall_s / cast(nullif(b.requests, 0) as double) as wall_share_s
from runs r
join batches b on b.host = r.host and b.date = r.date and b.session_id = r.session_id and b.batch_id = r.batch_id
where r.streaming;
