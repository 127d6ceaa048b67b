package mcpfacade

import (
	"strings"
	"testing"
)

func TestMalformed(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int64{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:             0,
		`{"jsonrpc":"2.0","id":"a","method":"ping"}`:           0,
		`{"jsonrpc":"2.0","method":"notifications/x"}`:         0,
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                 0,
		` [{"jsonrpc":"2.0","id":1,"method":"ping"}]`:          0,
		`{"jsonrpc":"2.0","id":9007199254740991,"method":"p"}`: 0,
		``:                                      -32700,
		`garbage`:                               -32700,
		`{"jsonrpc":"2.0"} trailing`:            -32700,
		`{}{}`:                                  -32700,
		`null`:                                  -32600,
		`"x"`:                                   -32600,
		`[]`:                                    -32600,
		`[1]`:                                   -32600,
		`{}`:                                    -32600,
		`{"jsonrpc":"1.0","id":1,"method":"p"}`: -32600,
		`{"jsonrpc":"2.0","id":1}`:              -32600,
		`{"jsonrpc":"2.0","id":1,"methd":"p"}`:  -32600,
		`{"jsonrpc":"2.0","id":1,"method":5}`:   -32600,
		`{"jsonrpc":"2.0","id":null,"method":"p"}`:                                                      -32600,
		`{"jsonrpc":"2.0","id":1.5,"method":"p"}`:                                                       -32600,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"p"}`:                                          -32600,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1,"method":"ping"}]`:           -32600,
		`[` + strings.Repeat(`{"jsonrpc":"2.0","method":"n"},`, 50) + `{"jsonrpc":"2.0","method":"n"}]`: -32600,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}}`:                 -32602,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"requestState":5}}`:                    -32602,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"inputResponses":[]}}`:                 -32602,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":5}`:                                     -32602,
	} {
		got := malformed([]byte(body))
		switch {
		case want == 0 && got != nil:
			t.Errorf("%s: %v", body, got)
		case want != 0 && (got == nil || got.Code != want):
			t.Errorf("%s: %v, want %d", body, got, want)
		}
	}
}
