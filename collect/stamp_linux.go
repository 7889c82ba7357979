//go:build amd64 || arm64

package collect

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// kernelReader reads a TCP connection with recvmsg, which also says when the
// kernel took the bytes in. The option SO_TIMESTAMPNS is the one of 64-bit
// systems, whose times have 64 bits; other systems stamp in user space.
type kernelReader struct {
	conn *net.TCPConn
	raw  syscall.RawConn
	recv func(fd uintptr) bool // k.receive; kept, since a method value is allocated

	reads int // calls of read
	least int // bytes of the shortest

	// For the call under way, and kept with it: what the kernel is handed
	// would else be allocated for each read.
	msg     syscall.Msghdr
	iov     syscall.Iovec
	flags   uintptr
	control [8]uint64 // words, as the kernel aligns it; one stamp takes 4
	n       int
	errno   syscall.Errno
}

// newKernelReader returns nil where the kernel does not stamp what r reads.
func newKernelReader(r io.Reader) *kernelReader {
	conn, ok := r.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil
	}
	var refused error
	err = raw.Control(func(fd uintptr) {
		refused = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1)
	})
	if err != nil || refused != nil {
		return nil
	}
	k := &kernelReader{conn: conn, raw: raw}
	k.recv = k.receive
	return k
}

// keepStamping has the kernel go on stamping until what it returns is closed
// or forgotten. The kernel stamps packets while there is a socket that wants
// it, and takes its time to begin: it patches its own code, in the background,
// when the first such socket comes, and again when the last one goes, as
// between two batches. An unused socket keeps it at it.
func keepStamping() io.Closer {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	// Refused, it is of no use and does no harm.
	_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1)
	return os.NewFile(uintptr(fd), "stamping")
}

// read is conn.Read that also returns the stamp of what it read, in ns of the
// wall clock; 0 where the kernel gave none. A call tells the stamp of the last
// segment alone that it took from, so read looks first, and ends where a
// segment does: at the last byte that bears the stamp of the first.
func (k *kernelReader) read(p []byte) (n int, stamp int64, err error) {
	if len(p) == 0 {
		return 0, 0, nil
	}
	n, last, err := k.call(p, syscall.MSG_PEEK)
	if err == nil && k.several(n) {
		n, err = k.segment(p[:n], last)
	}
	if err != nil {
		return 0, 0, err
	}
	if k.reads++; k.reads == 1 || n < k.least {
		k.least = n
	}
	return k.call(p[:n], 0)
}

// several reports whether n bytes may be of several segments, each as long as
// the shortest so far. The first few reads teach that: the head of an answer is
// longer than what follows.
func (k *kernelReader) several(n int) bool { return k.reads < 4 || n >= 2*k.least }

// segment is how many bytes, of those that are there, bear the stamp of the
// first; last is that of the last one.
func (k *kernelReader) segment(p []byte, last int64) (int, error) {
	_, first, err := k.call(p[:1], syscall.MSG_PEEK)
	if err != nil || first == last {
		return len(p), err
	}
	return k.end(p, first)
}

// end is segment where the last byte has another stamp than the first. The
// queue only grows at its end, so it can be searched.
func (k *kernelReader) end(p []byte, first int64) (int, error) {
	same, other := 1, len(p) // that many bytes end at the first stamp, and at another
	for other-same > 1 {
		mid := (same + other) / 2
		_, stamp, err := k.call(p[:mid], syscall.MSG_PEEK)
		if err != nil {
			return 0, err
		}
		if stamp == first {
			same = mid
		} else {
			other = mid
		}
	}
	return same, nil
}

// call reads or looks once, and waits for something to be there. The error is
// as conn.Read's.
func (k *kernelReader) call(p []byte, flags uintptr) (n int, stamp int64, err error) {
	k.iov.Base, k.flags = &p[0], flags
	k.iov.SetLen(len(p))
	err = k.raw.Read(k.recv)
	k.iov.Base = nil
	switch {
	case err != nil:
		return 0, 0, err
	case k.errno != 0:
		return 0, 0, &net.OpError{Op: "read", Net: "tcp", Source: k.conn.LocalAddr(), Addr: k.conn.RemoteAddr(), Err: os.NewSyscallError("recvmsg", k.errno)}
	case k.n == 0:
		return 0, 0, io.EOF
	}
	return k.n, k.stamp(), nil
}

// receive makes one call; false asks the poller to wait until there is
// something to read, or the deadline has passed.
func (k *kernelReader) receive(fd uintptr) bool {
	for {
		k.msg = syscall.Msghdr{Iov: &k.iov, Iovlen: 1, Control: (*byte)(unsafe.Pointer(&k.control))}
		k.msg.SetControllen(int(unsafe.Sizeof(k.control)))
		n, _, errno := syscall.Syscall(syscall.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&k.msg)), k.flags)
		k.n, k.errno = int(n), errno
		if errno != syscall.EINTR {
			return errno != syscall.EAGAIN
		}
	}
}

// stamp finds the kernel's stamp in the control data of the last call. Stamps
// are all that was asked for, so it comes first or not at all.
func (k *kernelReader) stamp() int64 {
	m := (*struct {
		syscall.Cmsghdr
		syscall.Timespec
	})(unsafe.Pointer(&k.control))
	if uintptr(k.msg.Controllen) < unsafe.Sizeof(*m) || m.Level != syscall.SOL_SOCKET || m.Type != syscall.SCM_TIMESTAMPNS {
		return 0
	}
	return m.Nano()
}
