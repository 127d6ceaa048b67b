package mcpfacade

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// sieve is a reader that lets only lines through that are JSON-RPC. It answers the others itself: the SDK
// would end the connection over them, and with it the process.
type sieve struct {
	in   *bufio.Reader
	out  io.Writer
	rest []byte // of a line that is being passed on
}

func newSieve(in io.Reader, out io.Writer) *sieve {
	return &sieve{in: bufio.NewReader(in), out: out}
}

// Read implements [io.Reader].
func (s *sieve) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		line, err := s.line()
		if len(bytes.TrimSpace(line)) > 0 {
			if refusal := s.judge(line); refusal == nil {
				line = append(line, '\n')
				s.rest = line
				break
			} else if err := s.refuse(line, refusal); err != nil {
				return 0, err
			}
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// line reads one line without its end; of one that is too long only so much that it shows. An error may
// come with the last line.
func (s *sieve) line() ([]byte, error) {
	var line []byte
	for {
		part, err := s.in.ReadSlice('\n')
		if len(line) <= maxBody {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}

func (s *sieve) judge(line []byte) *jsonrpc.Error {
	if len(line) > maxBody {
		return invalid("a message must be at most 1 MiB")
	}
	return malformed(line)
}

func (s *sieve) refuse(line []byte, refusal *jsonrpc.Error) error {
	id := exactID(json.RawMessage(idIn(line)))
	if id == nil {
		id = json.RawMessage("null")
	}
	return json.NewEncoder(s.out).Encode(map[string]any{"jsonrpc": "2.0", "id": id, "error": refusal})
}

// lockedWriter lets two write whole lines.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements [io.Writer].
func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
