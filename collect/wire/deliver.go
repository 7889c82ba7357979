package wire

import "tokwatt/collect"

// Deliver yields the end of a stream: the arrival with the report, and where
// the exchange failed, why, which is the context's error where the user ended
// it. Both are without what is secret; the failure has the status of the
// answer unless it has one of its own.
func (x *Exchange) Deliver(yield func(collect.Arrival, error) bool, last collect.Arrival, err error) {
	last.Stamps = x.Stamps()
	x.Own(last.Report)
	if !yield(last, nil) || err == nil {
		return
	}
	if x.ctx.Err() != nil {
		yield(collect.Arrival{}, x.ctx.Err())
		return
	}
	f := collect.AsFailure(err, collect.ErrProtocol)
	f.Message = x.Redact(f.Message)
	if f.HTTPStatus == nil {
		f.HTTPStatus = last.HTTPStatus
	}
	yield(collect.Arrival{}, f)
}
