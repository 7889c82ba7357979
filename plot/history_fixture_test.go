package plot

import (
	"fmt"
	"math/rand/v2"
	"time"

	"tokwatt/analyze"
)

// historyOf is n sessions of the servers, a day or so apart, in which versions
// change and rates with them.
func historyOf(list []server, n int, pp []int64, step time.Duration, hosts ...string) ([]analyze.Summary, []analyze.SessionVersions) {
	r := rand.New(rand.NewPCG(3, 1))
	var rows []analyze.Summary
	var sessions []analyze.SessionVersions
	at := time.Date(2025, 9, 3, 8, 15, 0, 0, time.UTC)
	for k := range n {
		id := fmt.Sprintf("0199%04x-0000-7000-8000-000000000001", k)
		host := "studio"
		if hosts != nil {
			host = hosts[k%len(hosts)]
		}
		sessions = append(sessions, analyze.SessionVersions{SessionID: id, Host: host, StartedAt: at,
			Tool: fmt.Sprintf("0.%d.0", 1+3*k/n), OS: []string{"macOS 26.0", "macOS 26.1"}[2*k/n]})
		for i, s := range list {
			s.version = fmt.Sprintf("1.0.%d", 60+(k+2*i)*(3+i)/n)
			s.decode *= 1 - 0.12*float64((k+2*i)*(3+i)/n%2)
			for _, p := range pp {
				row := s.summary(p, 1, 6, r)
				row.SessionID, row.Host, row.TargetID = id, host, int64(i+1)
				rows = append(rows, row)
			}
		}
		at = at.Add(time.Duration(float64(step) * (0.4 + 1.2*r.Float64())))
	}
	return rows, sessions
}

func pastOf(rows []analyze.Summary, sessions []analyze.SessionVersions, opt Options) func() (*Figure, error) {
	return func() (*Figure, error) { return History(rows, sessions, opt) }
}

func historyGallery() []picture {
	const day = 24 * time.Hour
	forty, fortySessions := historyOf(servers()[:2], 40, []int64{512}, 4*day)
	lengths, lengthsSessions := historyOf(servers()[4:5], 24, []int64{128, 2048}, 2*day)
	hours, hoursSessions := historyOf(servers()[:1], 6, []int64{512}, 70*time.Minute)
	minute, minuteSessions := historyOf(servers()[:2], 4, []int64{512}, 15*time.Second)
	hundreds, hundredsSessions := historyOf(servers()[:2], 200, []int64{512}, 2*day)
	two, twoSessions := historyOf(servers()[:1], 2, []int64{512}, day)
	years, yearsSessions := historyOf(servers()[:3], 60, []int64{512}, 25*day)
	many, manySessions := historyOf(servers(), 40, []int64{512}, 9*day, "studio", "mini")
	crowded, crowdedSessions := historyOf(servers()[:1], 40, []int64{512}, 5*day)
	for i := range crowded {
		crowded[i].EngineVersion = fmt.Sprintf("b%d", 7000+i/2*13)
	}
	return []picture{
		{"history", pastOf(forty, fortySessions, Options{}), 2},
		{"history_two_metrics", pastOf(lengths, lengthsSessions, Options{Y: []string{"prompt_tps", "generation_tps"}}), 2},
		{"history_two_logs", pastOf(lengths, lengthsSessions, Options{Log: "y", Y: []string{"prompt_tps", "generation_tps"}}), 2},
		{"history_hours", pastOf(hours, hoursSessions, Options{}), 2},
		{"history_minute", pastOf(minute, minuteSessions, Options{}), 2},
		{"history_200", pastOf(hundreds, hundredsSessions, Options{}), 2},
		{"history_two", pastOf(two, twoSessions, Options{}), 2},
		{"history_years", pastOf(years, yearsSessions, Options{Log: "y", Y: []string{"ttft_ms"}}), 2},
		{"history_many", pastOf(many, manySessions, Options{}), 2},
		{"history_versions", pastOf(crowded, crowdedSessions, Options{}), 2},
	}
}
