package analyze

import "cmp"

// sessionTables are the writers of a session's tables.
type sessionTables struct {
	sessions *tableWriter[SessionRow]
	segments *tableWriter[SegmentRow]
	targets  *tableWriter[TargetRow]
	cases    *tableWriter[CaseRow]
	batches  *tableWriter[BatchRow]
	requests *tableWriter[RequestRow]
	chunks   *tableWriter[ChunkRow]
	samples  *tableWriter[SampleRow]
	energy   *tableWriter[EnergyRow]
}

func openTables(files *fileSet) (*sessionTables, error) {
	t := new(sessionTables)
	err := cmp.Or( // what is wrong with the folder is so for each
		open(files, "sessions", sessionColumns(), &t.sessions),
		open(files, "segments", segmentColumns(), &t.segments),
		open(files, "targets", targetColumns(), &t.targets),
		open(files, "cases", caseColumns(), &t.cases),
		open(files, "batches", batchColumns(), &t.batches),
		open(files, "requests", requestColumns(), &t.requests),
		open(files, "chunks", chunkColumns(), &t.chunks),
		open(files, "samples", sampleColumns(), &t.samples),
		open(files, "energy", energyColumns(), &t.energy),
	)
	if err != nil {
		return nil, err
	}
	return t, nil
}

func open[R any](files *fileSet, name string, cols []column[R], t **tableWriter[R]) error {
	w, err := files.create(name)
	if err != nil {
		return err
	}
	*t, err = newTableWriter(tableFile{w, files.partition, rowGroup}, name, cols)
	return err
}

// close writes the ends of all files.
func (t *sessionTables) close() error {
	return cmp.Or(t.sessions.close(), t.segments.close(), t.targets.close(), t.cases.close(),
		t.batches.close(), t.requests.close(), t.chunks.close(), t.samples.close(), t.energy.close())
}

// rows counts the rows by table.
func (t *sessionTables) rows() map[string]int64 {
	return map[string]int64{
		"sessions": t.sessions.n, "segments": t.segments.n, "targets": t.targets.n, "cases": t.cases.n,
		"batches": t.batches.n, "requests": t.requests.n, "chunks": t.chunks.n, "samples": t.samples.n,
		"energy": t.energy.n,
	}
}
