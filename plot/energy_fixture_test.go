package plot

import "tokwatt/analyze"

// withEnergy gives each batch of rows an energy that goes with its length, and
// bounds around it.
func withEnergy(rows []analyze.Summary, scope string, low, high float64, indicative bool) []analyze.EnergyCase {
	var cases []analyze.EnergyCase
	for _, row := range rows {
		c := analyze.EnergyCase{Summary: row}
		rates := row.Stats["agg_wall_tps"].Points
		for i, rate := range rates {
			watts := 48.0
			if row.Engine == "ollama" {
				watts = 60
			}
			tokens := 128 * float64(row.Concurrency)
			j := watts * (tokens/rate + float64(*row.PP*row.Concurrency)/row.Stats["prompt_tps"].Points[i])
			lo, hi := j*low, j*high
			per, total := j/tokens, j/(tokens+float64(*row.PP*row.Concurrency))
			c.Batches = append(c.Batches, analyze.EnergyBatch{BatchID: int64(i), J: &j, LowJ: &lo, HighJ: &hi, Scope: scope, Indicative: indicative, Counted: true,
				Figures: map[string]*float64{"energy_j": &j, "avg_power_w": &watts, "j_per_output_token": &per, "j_per_total_token": &total}})
		}
		cases = append(cases, c)
	}
	return cases
}

// without takes the energy from some of the batches of each case.
func withoutEnergy(cases []analyze.EnergyCase, every int, reason string) []analyze.EnergyCase {
	for _, c := range cases {
		for i := range c.Batches {
			if i%every == 0 {
				c.Batches[i] = analyze.EnergyBatch{BatchID: int64(i), NullReason: reason, Counted: true}
			}
		}
	}
	return cases
}

func energyPicture(name string, cases []analyze.EnergyCase, opt Options, columns int) picture {
	return picture{name, func() (*Figure, error) { return Energy(cases, opt) }, columns}
}

func energyGallery() []picture {
	pp := []int64{128, 512, 2048, 8192}
	two := []server{servers()[1], servers()[3]}
	coarse := withEnergy(matrixOf(two, pp, []int64{1}, 6), "system", 0.82, 1.24, false)
	mixed := append(withEnergy(matrixOf(two[:1], pp, []int64{1}, 6), "system", 1, 1, true),
		withEnergy(matrixOf(two[1:], pp, []int64{1}, 6), "gpu", 0.97, 1.02, false)...)
	for i := range mixed {
		mixed[i].TargetID = int64(1 + i/len(pp))
	}
	return []picture{
		energyPicture("energy_two", coarse, Options{}, 1),
		energyPicture("energy_both", coarse, Options{Y: []string{"j_per_output_token", "j_per_total_token"}}, 2),
		energyPicture("energy_null", withoutEnergy(withEnergy(matrixOf(two, pp, []int64{1}, 6), "gpu", 0.96, 1.05, false), 3, "gap"), Options{}, 1),
		energyPicture("energy_scopes", mixed, Options{}, 2),
		energyPicture("energy_concurrency", withEnergy(matrixOf(servers()[:4], []int64{512}, []int64{1, 2, 4, 8, 16, 32}, 6), "gpu", 0.97, 1.02, false), Options{}, 1),
		energyPicture("energy_log", withEnergy(matrixOf(servers(), []int64{128, 1024, 8192, 65536}, []int64{1}, 3), "package", 0.9, 1.1, false), Options{Log: "xy"}, 1),
		energyPicture("energy_point", withEnergy(matrixOf(two[:1], []int64{512}, []int64{1}, 1), "system", 0.5, 1.6, true), Options{X: "pp"}, 1),
	}
}
