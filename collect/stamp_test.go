package collect

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pair is a connection over the loopback, both ends.
func pair(t testing.TB) (near, far *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	d, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); d.Close() })
	return c.(*net.TCPConn), d.(*net.TCPConn)
}

// stamped is a connection whose stamps are the kernel's, where it has any: it
// begins to stamp some time after it is told to.
func stamped(t testing.TB, clock *Clock) (*StampedReader, *net.TCPConn) {
	t.Helper()
	near, far := pair(t)
	if newKernelReader(near) == nil {
		return NewStampedReader(clock, near), far
	}
	for range 100 {
		s := NewStampedReader(clock, near)
		far.Write([]byte("x"))
		if _, err := s.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if s.Source() == StampKernel {
			return s, far
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the kernel takes the option and does not stamp")
	return nil, nil
}

// TestStampedRead: stamps lie between the sender's write and the return of the
// read, in order, and where the kernel makes them it does not matter how late
// the reader is.
func TestStampedRead(t *testing.T) {
	clock := NewClock()
	s, far := stamped(t, clock)
	buf := make([]byte, 100)
	last := s.At()
	for i := range 20 {
		before := clock.Now()
		if _, err := far.Write([]byte("event")); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			time.Sleep(5 * time.Millisecond)
		}
		asked := clock.Now()
		n, err := s.Read(buf)
		returned := clock.Now()
		at := s.At()
		if n != 5 || err != nil {
			t.Fatalf("%d bytes, %v", n, err)
		}
		if at < last || at > returned || at < before-int64(sameOffset) {
			t.Errorf("stamp %d: sent at %d, returned at %d, the stamp before %d", at, before, returned, last)
		}
		if s.Source() == StampKernel && at >= asked {
			t.Errorf("stamp %d is not before the read, which began at %d", at, asked)
		}
		last = at
	}
	if s.kernel != nil && s.Source() != StampKernel {
		t.Errorf("stamped by %s", s.Source())
	}
	far.Close()
	asked := clock.Now()
	if n, err := s.Read(buf); n != 0 || err != io.EOF || s.At() < asked {
		t.Errorf("end: %d, %v at %d, asked at %d", n, err, s.At(), asked)
	}
}

// TestStampedLate: what came in before the reader was made is stamped as well.
func TestStampedLate(t *testing.T) {
	clock := NewClock()
	stamped(t, clock) // from now on the kernel stamps
	near, far := pair(t)
	far.Write([]byte("event"))
	time.Sleep(2 * time.Millisecond)
	made := clock.Now()
	s := NewStampedReader(clock, near)
	if _, err := s.Read(make([]byte, 10)); err != nil || s.kernel != nil && (s.Source() != StampKernel || s.At() >= made) {
		t.Errorf("at %d by %s, made at %d, %v", s.At(), s.Source(), made, err)
	}
}

// TestReadTogether: a reader that comes late for several events gives each the
// stamp of its segment, or of a later one where the kernel joined them: then
// they are equal. None is before it was sent, and the last is its own.
func TestReadTogether(t *testing.T) {
	const events = 6
	clock := NewClock()
	for range 5 {
		s, far := stamped(t, clock)
		var sent []int64
		for i := range events {
			sent = append(sent, clock.Now())
			fmt.Fprintf(far, "event %d %s\n", i, strings.Repeat("x", 10*i))
			time.Sleep(time.Millisecond)
		}
		done := clock.Now()
		lines := NewStampedLineReader(s, s)
		var at []int64
		for i := range events {
			line, stamp, err := lines.Next()
			if err != nil || !strings.HasPrefix(string(line), fmt.Sprintf("event %d ", i)) {
				t.Fatalf("event %d: %q, %v", i, line, err)
			}
			at = append(at, stamp)
		}
		if s.Source() != StampKernel {
			return // then they were read late, at one time
		}
		for i := range events {
			if at[i] < sent[i]-int64(sameOffset) || i > 0 && at[i] < at[i-1] {
				t.Errorf("event %d: stamped %d, sent at %d, the one before stamped %d", i, at[i], sent[i], at[max(i-1, 0)])
			}
		}
		if last := at[events-1]; last > done {
			t.Errorf("the last event: stamped %d, sent at %d, read at %d", last, sent[events-1], done)
		}
	}
}

// TestStampedErrors: a connection read with stamps ends as any other does.
func TestStampedErrors(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(near, far *net.TCPConn)
		want error
	}{
		"deadline passed": {func(near, _ *net.TCPConn) { near.SetReadDeadline(time.Unix(1, 0)) }, os.ErrDeadlineExceeded},
		"deadline passes": {func(near, _ *net.TCPConn) { near.SetReadDeadline(time.Now().Add(5 * time.Millisecond)) }, os.ErrDeadlineExceeded},
		"closed here":     {func(near, _ *net.TCPConn) { time.AfterFunc(5*time.Millisecond, func() { near.Close() }) }, net.ErrClosed},
		"closed there":    {func(_, far *net.TCPConn) { far.Close() }, io.EOF},
		"reset":           {func(_, far *net.TCPConn) { far.SetLinger(0); far.Close() }, syscall.ECONNRESET},
	} {
		near, far := pair(t)
		s := NewStampedReader(NewClock(), near)
		before := s.clock.Now()
		c.end(near, far)
		n, err := s.Read(make([]byte, 10))
		if n != 0 || !errors.Is(err, c.want) {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		var timeout net.Error
		if c.want == os.ErrDeadlineExceeded && !(errors.As(err, &timeout) && timeout.Timeout()) {
			t.Errorf("%s: %v is no timeout", name, err)
		}
		if s.At() < before {
			t.Errorf("%s: at %d, before %d", name, s.At(), before)
		}
	}
}

// TestPlace: which stamps are taken, and where they are put. The last one was
// at 1 s, and now it is 2 s.
func TestPlace(t *testing.T) {
	const ms = int64(time.Millisecond)
	for name, c := range map[string]struct {
		stamp int64 // on the segment's clock, were it not set
		set   int64 // how far the wall clock was set since
		want  int64 // 0: not taken
	}{
		"between":                {1500 * ms, 0, 1500 * ms},
		"none":                   {0, 0, 0},
		"just before the last":   {1000*ms - 1000, 0, 1000 * ms},
		"just after now":         {2000*ms + 1000, 0, 2000 * ms},
		"before the last":        {999 * ms, 0, 0},
		"after now":              {2001 * ms, 0, 0},
		"wall clock set forward": {1500 * ms, 400 * ms, 0},
		"wall clock set back":    {1500 * ms, -400 * ms, 0},
	} {
		clock := NewClock()
		s := NewStampedReader(clock, nil)
		offset := s.offset
		s.offset -= c.set
		s.at = 1000 * ms
		stamp := c.stamp
		if stamp != 0 {
			stamp += offset
		}
		at, ok := s.place(stamp, 2000*ms)
		if ok != (c.want != 0) || ok && apart(at, c.want) > sameOffset {
			t.Errorf("%s: %d, %t, want %d", name, at, ok, c.want)
		}
		if c.set == 0 {
			continue
		}
		if at, ok := s.place(stamp, 2000*ms); !ok || apart(at, 1500*ms) > sameOffset {
			t.Errorf("%s: the next one is %d, %t", name, at, ok)
		}
	}
}

// TestStampSourceIsKept: a request says who stamped it as its driver says; a
// driver that says nothing stamps in user space.
func TestStampSourceIsKept(t *testing.T) {
	for said, want := range map[StampSource]StampSource{"": StampUser, StampUser: StampUser, StampKernel: StampKernel} {
		rec := recorder{req: &Request{}}
		rec.add(Arrival{Report: &Report{}, Stamps: said})
		if got := rec.req.StampSource; got != want {
			t.Errorf("%q said, %q kept, want %q", said, got, want)
		}
	}
}

// TestSpokenTooEarly: what a server says before it is asked came at once, not
// before the request.
func TestSpokenTooEarly(t *testing.T) {
	rec := recorder{req: &Request{StartNS: 100}}
	rec.add(Arrival{Chunk: Chunk{T: 60, Bytes: 5, Kind: KindContent}})
	if got := rec.req.Chunks[0].T; got != 0 {
		t.Errorf("at %d ns", got)
	}
}

// BenchmarkStampedRead is the cost of a read with its stamp, the write that it
// answers included.
func BenchmarkStampedRead(b *testing.B) {
	for _, kernel := range []bool{false, true} {
		name := map[bool]string{false: "user", true: "kernel"}[kernel]
		b.Run(name, func(b *testing.B) {
			s, far := stamped(b, NewClock())
			if !kernel {
				s.kernel = nil
			}
			buf, event := make([]byte, 4096), make([]byte, 200)
			b.ReportAllocs()
			for b.Loop() {
				far.Write(event)
				if _, err := s.Read(buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
