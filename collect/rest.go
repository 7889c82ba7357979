package collect

import "context"

// Rest is what is to be measured on one target.
type Rest struct {
	Job    int        // its place among the jobs
	Target TargetInfo // as it says before it is opened
	Err    error      // why it was not found, or does not say what it is; else nil
	Cases  []RestCase // in the order of the job's spec
}

// RestCase is a case of which batches are left.
type RestCase struct {
	Shape
	Batches int64 // 0: it is done
}

// Batches are those that are left of the target, without warm-ups.
func (r Rest) Batches() int64 {
	var n int64
	for _, c := range r.Cases {
		n += c.Batches
	}
	return n
}

// Left says what Run would measure, target by target, those that are done
// included; past may be nil: then it is all. It asks the targets what they are
// and changes nothing anywhere. A target that is another one than it seems
// before it is opened has more left than this says. The error is that of a job
// which is not valid, or of the context.
func Left(ctx context.Context, past *Past, jobs ...Job) ([]Rest, error) {
	for _, j := range jobs {
		if err := j.Spec.Validate(); err != nil {
			return nil, err
		}
	}
	s := &run{Runner: &Runner{Past: past}, jobs: jobs, claimed: map[*pastTarget]bool{}}
	var out []Rest
	all := s.survey(ctx)
	if past == nil {
		describe(ctx, all)
	}
	for _, w := range all {
		r := Rest{Job: w.place, Target: w.info, Err: w.silence}
		for _, shape := range w.job.Spec.Shapes() {
			r.Cases = append(r.Cases, RestCase{Shape: shape})
		}
		for _, step := range w.pending {
			r.Cases[step.at].Batches++
		}
		out = append(out, r)
	}
	return out, ctx.Err()
}
