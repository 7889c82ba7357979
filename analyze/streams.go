package analyze

// StreamBatch is one batch as its answers arrived: one stream a request.
type StreamBatch struct {
	SessionID     string
	Engine        string
	EngineVersion string
	ModelID       string
	Quantization  string
	CaseID        int64
	BatchID       int64
	PP            *int64 // nil: prompts of no set length
	TG            int64
	Concurrency   int64
	Warmup        bool
	Streams       []Stream // in the order of their numbers
	Longest       bool     // it has the session's longest gap, which is why it was chosen
}

// Stream is one request of the batch. Times are in ns from the batch's start.
type Stream struct {
	RequestID int64
	Index     int64 // the stream's number, from 0
	Status    string
	ErrorKind string
	StartNS   int64
	EndNS     int64
	Arrivals  []Arrival // of output, in order; none where the answer was not streamed
}

// Arrival is one output-bearing chunk.
type Arrival struct {
	NS     int64
	Tokens *int64 // nil: not known
}
