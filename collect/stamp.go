package collect

import (
	"io"
	"time"
)

// StampedReader notes when the bytes of each read arrived. It stands right
// over a connection, below whatever buffers and decodes, and it is made when
// the connection is: the kernel stamps only what comes in after that, the
// first time some milliseconds after.
//
// Of a plain TCP connection under Linux the kernel's own stamps are taken, of
// the segment that a read is of: no read takes from two that bear different
// ones. That leaves out how long this process took to wake up. Elsewhere and
// under TLS a read is stamped when it returned.
//
// What lies in the kernel's queue when the next segment comes may be joined
// with it, and then bears its stamp: the older one is lost. So events that
// were read together are known by their equal stamps, and all but the last of
// them may be older than that.
type StampedReader struct {
	clock  *Clock
	r      io.Reader
	kernel *kernelReader // nil: r is no connection whose stamps the kernel tells
	offset int64         // wall clock less segment clock, ns
	at     int64         // 0 before the first read: bytes may have waited for the reader to be made
	user   bool          // a read that brought something was stamped here
}

// NewStampedReader stamps the reads of r with clock.
func NewStampedReader(clock *Clock, r io.Reader) *StampedReader {
	s := &StampedReader{clock: clock, r: r, kernel: newKernelReader(r)}
	if s.kernel != nil {
		clock.stamping.Do(func() { clock.stamper = keepStamping() })
	}
	now, wall := clock.both()
	s.offset = wall - now
	return s
}

// Read reads from the source.
func (s *StampedReader) Read(p []byte) (int, error) {
	if s.kernel == nil {
		n, err := s.r.Read(p)
		s.at = s.clock.Now()
		s.user = s.user || n > 0
		return n, err
	}
	n, stamp, err := s.kernel.read(p)
	now := s.clock.Now()
	at, ok := s.place(stamp, now)
	if n <= 0 || !ok {
		at = now
	}
	s.at = at
	s.user = s.user || n > 0 && !ok
	return n, err
}

// At is when the newest bytes arrived; at the end of the source, or where a
// read failed, when that was known.
func (s *StampedReader) At() int64 { return s.at }

// Source says who stamped the bytes that were read so far: the kernel only
// where each of its stamps could be used.
func (s *StampedReader) Source() StampSource {
	if s.kernel == nil || s.user {
		return StampUser
	}
	return StampKernel
}

// The distance of the two clocks is constant: both run at one pace, and the
// wall clock alone can be set. Two readings of it differ by what passes
// between the readings of the two clocks, tens of nanoseconds, unless the
// thread lost its core there: then it is read again.
const (
	sameOffset = 50 * time.Microsecond
	readAgain  = 3
)

// place takes a kernel's stamp, in ns of the wall clock and 0 where there is
// none, over to the segment's clock, whose time is now. It is of no use when
// the wall clock was set since the last read: the stamp may be from before
// that. A stamp that is not between the last one and now is moved there, as
// long as it is off by no more than clocks are read apart.
func (s *StampedReader) place(stamp, now int64) (at int64, ok bool) {
	if stamp == 0 {
		return 0, false
	}
	var offset int64
	for range readAgain {
		mono, wall := s.clock.both()
		offset = wall - mono
		if ok = apart(offset, s.offset) <= sameOffset; ok {
			break
		}
	}
	if !ok {
		s.offset = offset
		return 0, false
	}
	at = stamp - s.offset
	within := min(max(at, s.at), now)
	return within, apart(within, at) <= sameOffset
}

func apart(a, b int64) time.Duration { return time.Duration(max(a-b, b-a)) }
