package wire

import (
	"context"
	"sync"
	"time"
)

// findTimeout bounds the look at one address: what runs on this host answers
// in milliseconds.
const findTimeout = 800 * time.Millisecond

// FindAll looks at all URLs at once and answers in under a second, in the order
// of the URLs.
func FindAll[Found any](ctx context.Context, urls []string, look func(ctx context.Context, url string) Found) []Found {
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	out := make([]Found, len(urls))
	var wg sync.WaitGroup
	for i, u := range urls {
		wg.Go(func() { out[i] = look(ctx, u) })
	}
	wg.Wait()
	return out
}
