package mcpfacade

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// maxBatch bounds the messages of a batch: each may be answered with a large result.
	maxBatch = 50
	// maxSafeID is the largest integer that every JSON reader keeps exactly (RFC 8259, section 6).
	maxSafeID = 1<<53 - 1
)

// malformed tells what a body is that is not a message of JSON-RPC, or a batch of them; nil where it is. The
// SDK passes over some of it, and a client would then wait for an answer for ever.
func malformed(body []byte) *jsonrpc.Error {
	if !json.Valid(body) {
		return &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the body must be JSON"}
	}
	switch first := bytes.TrimSpace(body)[0]; first {
	case '{':
		return malformedMessage(body)
	case '[':
		return malformedBatch(body)
	default:
		return invalid("the body must be a JSON-RPC message")
	}
}

func malformedBatch(body []byte) *jsonrpc.Error {
	var batch []json.RawMessage
	if err := json.Unmarshal(body, &batch); err != nil || len(batch) == 0 || len(batch) > maxBatch {
		return invalid("a batch must hold from 1 to " + strconv.Itoa(maxBatch) + " messages")
	}
	seen := map[string]bool{}
	for _, message := range batch {
		if err := malformedMessage(message); err != nil {
			return err
		}
		if id := idIn(message); id != "" {
			if seen[id] {
				return invalid("the ids of a batch must differ")
			}
			seen[id] = true
		}
	}
	return nil
}

func idIn(message json.RawMessage) string {
	var fields struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(message, &fields) != nil {
		return ""
	}
	return string(fields.ID)
}

func malformedMessage(text json.RawMessage) *jsonrpc.Error {
	var message map[string]json.RawMessage
	if json.Unmarshal(text, &message) != nil {
		return invalid("a message must be an object")
	}
	method, isCall := message["method"]
	_, hasResult := message["result"]
	_, hasError := message["error"]
	id, hasID := message["id"]
	switch {
	case string(message["jsonrpc"]) != `"2.0"`:
		return invalid(`jsonrpc must be "2.0"`)
	case hasID && !isExactID(id):
		return invalid("id must be a string, or an integer that is not over 2^53-1")
	case !isCall && !hasResult && !hasError:
		return invalid("method is missing")
	case isCall && method[0] != '"':
		return invalid("method must be a string")
	case isCall:
		return malformedParams(method, message["params"])
	}
	return nil
}

// isExactID tells whether an ID can be given back as it came.
func isExactID(id json.RawMessage) bool {
	if id[0] == '"' {
		return true
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && n >= -maxSafeID && n <= maxSafeID
}

// malformedParams looks at the parameters that the SDK answers for with a code of its own.
func malformedParams(method, text json.RawMessage) *jsonrpc.Error {
	if len(text) == 0 {
		return nil
	}
	var params map[string]json.RawMessage
	if json.Unmarshal(text, &params) != nil {
		return invalidParams("params must be an object")
	}
	kinds := map[string]map[string]byte{
		`"initialize"`: {"protocolVersion": '"', "clientInfo": '{', "capabilities": '{'},
		`"tools/call"`: {"name": '"', "requestState": '"', "inputResponses": '{'},
	}[string(method)]
	for name, kind := range kinds {
		if value, given := params[name]; given && value[0] != kind {
			return invalidParams("params." + name + " must be " + map[byte]string{'"': "a string", '{': "an object"}[kind])
		}
	}
	return nil
}

func invalid(rule string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: rule}
}

func invalidParams(rule string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: rule}
}
