package store

import (
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"tokwatt/collect"
)

// part is one value of a record, before it has a key.
type part struct {
	kind    kind
	payload []byte
}

// codec turns records into payloads and back.
type codec struct {
	enc cbor.EncMode
	dec cbor.DecMode
}

func newCodec() codec {
	enc, err := cbor.EncOptions{
		Sort:   cbor.SortNone, // fields in the order of wire.go, so equal records are equal bytes
		Time:   cbor.TimeRFC3339NanoUTC,
		String: cbor.StringToTextString,
	}.EncMode()
	if err != nil {
		panic(err) // options that the library knows, or a bug of ours
	}
	dec, err := cbor.DecOptions{
		// What servers send is stored as it came, valid UTF-8 or not.
		UTF8: cbor.UTF8DecodeInvalid,
	}.DecMode()
	if err != nil {
		panic(err)
	}
	return codec{enc: enc, dec: dec}
}

// parts encodes a record: a batch into itself, its requests and their chunks,
// any other into one value.
func (c codec) parts(rec collect.Record) ([]part, error) {
	var v any
	var k kind
	switch r := rec.(type) {
	case *collect.Session:
		k, v = kindSession, sessionValue{sessionV1(*r), hostV1(r.Host), (*originV1)(r.Imported)}
	case *collect.Segment:
		k, v = kindSegment, (*segmentV1)(r)
	case *collect.TargetInfo:
		k, v = kindTarget, (*targetV1)(r)
	case *collect.Case:
		k, v = kindCase, (*caseV1)(r)
	case *collect.Batch:
		return c.batchParts(r)
	case *collect.Samples:
		k, v = kindSamples, samplesOut(r)
	case *collect.Sensors:
		k, v = kindSensors, sensorsOut(r)
	case *collect.Idle:
		k, v = kindIdle, (*idleV1)(r)
	case *collect.Lost:
		k, v = kindLost, (*lostV1)(r)
	case *collect.End:
		k, v = kindEnd, (*endV1)(r)
	default:
		return nil, fmt.Errorf("a record of type %T cannot be stored", rec)
	}
	p, err := c.enc.Marshal(v)
	return []part{{k, p}}, err
}

func (c codec) batchParts(b *collect.Batch) ([]part, error) {
	ps := make([]part, 1, 1+2*len(b.Requests))
	for i := range b.Requests {
		r := &b.Requests[i]
		v := requestValue{requestV1: (*requestV1)(r), Failure: (*failureV1)(r.Failure), Recount: (*recountV1)(r.Recount), Stated: (*statedV1)(r.Stated)}
		if r.Report != (collect.Report{}) {
			v.Report = (*reportV1)(&r.Report)
		}
		p, err := c.enc.Marshal(&v)
		if err != nil {
			return nil, err
		}
		ps = append(ps, part{kindRequest, p})
		if len(r.Chunks) > 0 {
			ps = append(ps, part{kindChunks, packChunks(r.Chunks)})
		}
	}
	p, err := c.enc.Marshal(batchValue{batchV1(*b), len(ps) - 1, len(b.Requests)})
	ps[0] = part{kindBatch, p}
	return ps, err
}

// maxPrealloc bounds what a batch's own count makes us allocate.
const maxPrealloc = 4096

// record decodes a value that is a record by itself; a batch comes without
// its requests, and with the number of values that hold them.
func (c codec) record(k kind, payload []byte) (rec collect.Record, follow int, err error) {
	switch k {
	case kindSession:
		var v sessionValue
		err = c.dec.Unmarshal(payload, &v)
		s := collect.Session(v.sessionV1)
		s.Host, s.Imported = collect.Host(v.Host), (*collect.Origin)(v.Imported)
		rec = &s
	case kindSegment:
		var v segmentV1
		err = c.dec.Unmarshal(payload, &v)
		rec = (*collect.Segment)(&v)
	case kindTarget:
		var v targetV1
		err = c.dec.Unmarshal(payload, &v)
		rec = (*collect.TargetInfo)(&v)
	case kindCase:
		var v caseV1
		err = c.dec.Unmarshal(payload, &v)
		rec = (*collect.Case)(&v)
	case kindBatch:
		var v batchValue
		err = c.dec.Unmarshal(payload, &v)
		b := collect.Batch(v.batchV1)
		if n := v.Count; n > 0 && n <= v.Values {
			b.Requests = make([]collect.Request, 0, min(n, maxPrealloc))
		}
		rec, follow = &b, v.Values
	case kindSamples:
		var v samplesValue
		if err = c.dec.Unmarshal(payload, &v); err == nil {
			rec, err = v.samples()
		}
	case kindSensors:
		var v sensorsValue
		err = c.dec.Unmarshal(payload, &v)
		rec = v.sensors()
	case kindIdle:
		var v idleV1
		err = c.dec.Unmarshal(payload, &v)
		rec = (*collect.Idle)(&v)
	case kindLost:
		var v lostV1
		err = c.dec.Unmarshal(payload, &v)
		rec = (*collect.Lost)(&v)
	case kindEnd:
		var v endV1
		err = c.dec.Unmarshal(payload, &v)
		rec = (*collect.End)(&v)
	}
	return rec, follow, err
}

// request decodes a request without its chunks into r, which is zero. The
// parts are decoded in place: this is the hot path of an export.
func (c codec) request(payload []byte, r *collect.Request) error {
	v := requestValue{requestV1: (*requestV1)(r), Report: (*reportV1)(&r.Report)}
	err := c.dec.Unmarshal(payload, &v)
	r.Failure, r.Recount, r.Stated = (*collect.Failure)(v.Failure), (*collect.Recount)(v.Recount), (*collect.Stated)(v.Stated)
	return err
}
