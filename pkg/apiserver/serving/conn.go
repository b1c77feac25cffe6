package serving

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"log"
	"strings"
	"sync"

	"golang.org/x/net/http2"
	"k8s.io/klog/v2"
)

// frameHeaderBytes is the size of the header of each HTTP/2 frame.
const frameHeaderBytes = 9

// goAway is a GOAWAY frame without an error that names no request: a payload of 8 bytes for stream 0, with the highest stream ID.
var goAway = []byte{0, 0, 8, byte(http2.FrameGoAway), 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0}

// conn is an HTTP/2 connection of a server. It follows the frames that the server writes, to find a place between two of them.
type conn struct {
	*tls.Conn

	lock sync.Mutex
	// header is the header of the current frame as far as it is written, left the number of bytes of its payload that follow.
	header []byte
	left   uint32
	// started is true after the first frame, which must be the server's SETTINGS. block is true between the frames of one header block.
	started, block bool
	// wanted is true if the end is to be announced, told when it was.
	wanted, told bool
}

// Write implements net.Conn.
func (c *conn) Write(data []byte) (int, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	n, err := c.Conn.Write(data)
	if err != nil {
		return n, err
	}
	c.follow(data)
	if c.wanted {
		c.tell()
	}
	return n, nil
}

// announce tells the client to send new requests over another connection. The server still answers all requests of this one.
func (c *conn) announce() {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.wanted = true
	c.tell()
}

// tell writes the frame if this is a place for it. The caller holds the lock.
func (c *conn) tell() {
	if c.told || !c.started || c.block || len(c.header) > 0 {
		return
	}
	c.told = true
	_, _ = c.Conn.Write(goAway) // The server notices a broken connection by itself.
}

// follow finds the ends of frames.
func (c *conn) follow(data []byte) {
	for len(data) > 0 {
		if missing := frameHeaderBytes - len(c.header); missing > 0 {
			part := data[:min(missing, len(data))]
			c.header, data = append(c.header, part...), data[len(part):]
			if len(c.header) < frameHeaderBytes {
				return
			}
			c.left = binary.BigEndian.Uint32(append([]byte{0}, c.header[:3]...))
		}
		payload := min(int(c.left), len(data))
		data, c.left = data[payload:], c.left-uint32(payload)
		if c.left == 0 {
			c.end(http2.FrameType(c.header[3]), http2.Flags(c.header[4]))
			c.header = c.header[:0]
		}
	}
}

// end notes the end of a frame.
func (c *conn) end(kind http2.FrameType, flags http2.Flags) {
	c.started = true
	switch kind {
	case http2.FrameHeaders, http2.FramePushPromise, http2.FrameContinuation:
		c.block = !flags.Has(http2.FlagHeadersEndHeaders)
	default:
	}
}

// newErrorLog returns the log of the HTTP server. Failed handshakes are common, such as those of TCP probes.
func newErrorLog(logger klog.Logger) *log.Logger { return log.New(errorLog{logger}, "", 0) }

type errorLog struct{ logger klog.Logger }

var _ io.Writer = errorLog{}

// Write implements io.Writer.
func (l errorLog) Write(line []byte) (int, error) {
	text, level := strings.TrimSpace(string(line)), 0
	if strings.HasPrefix(text, "http: TLS handshake error") {
		level = 5
	}
	l.logger.V(level).Info("The HTTP server reports a problem", "problem", text)
	return len(line), nil
}
