//go:build cgo

package duck

import "testing"

// BenchmarkPowerSession reads a day of a counter of each of four nodes at 4 Hz.
func BenchmarkPowerSession(b *testing.B) {
	const id = "019bc119-0000-7000-8000-000000000001"
	f := newFixture(b)
	f.session(id)
	f.exec(`insert into segments (session_id, host, date, segment, started_at) values ('%s', 'h', '2026-01-02', 1, '2026-01-02 10:00:00+00')`, id)
	f.exec(`insert into samples (session_id, host, date, segment, node, source, scope, metric, unit, end_ns, value)
		select '%s', 'h', '2026-01-02', 1, 'node-' || n, 's', 'gpu', 'energy', 'J', i * 250000000, i * (20 + n) + sin(i)
		from range(345600) a(i), range(4) b(n)`, id)
	db := f.open(Options{})
	b.ResetTimer()
	for b.Loop() {
		s, err := db.PowerSession(b.Context(), id)
		if err != nil || len(s.Traces) != 4 {
			b.Fatal(len(s.Traces), err)
		}
	}
	b.ReportMetric(4*345600, "readings")
}
