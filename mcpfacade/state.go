package mcpfacade

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// stateLife is how long a person may take to answer a form before the tool must be called anew.
const stateLife = time.Hour

// errState refuses a requestState. It does not tell why: the caller may be guessing.
var errState = &jsonrpc.Error{
	Code:    jsonrpc.CodeInvalidParams,
	Message: "requestState is invalid or expired; call the tool again without requestState and inputResponses",
}

// newState is the requestState of a call that asks about a job: the job's ID and an expiry, with a MAC
// that binds them to the caller, the tool and its arguments. The MAC's key comes from the caller's own
// bearer token, so any replica can check it, none keeps a secret for it, and another caller's state is
// worth nothing. What the caller may do with the job is decided by the API, as always.
func (c *call) newState(jobID string) (string, error) {
	expiry := strconv.FormatInt(time.Now().Add(stateLife).UnixNano(), 10)
	mac, err := c.stateMAC(jobID, expiry)
	if err != nil {
		return "", err
	}
	return strings.Join([]string{jobID, expiry, base64.RawURLEncoding.EncodeToString(mac)}, "."), nil
}

// openState gives the job's ID of a state that newState made for the same caller, tool and arguments.
// Any other is errState.
func (c *call) openState(state string) (jobID string, err error) {
	parts := strings.Split(state, ".")
	if len(parts) != 3 {
		return "", errState
	}
	want, err := c.stateMAC(parts[0], parts[1])
	if err != nil {
		return "", err
	}
	got, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !hmac.Equal(got, want) {
		return "", errState
	}
	expiry, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || time.Now().UnixNano() > expiry {
		return "", errState
	}
	return parts[0], nil
}

func (c *call) stateMAC(jobID, expiry string) ([]byte, error) {
	key, err := hkdf.Key(sha256.New, []byte(c.token()), nil, "provisiond MCP requestState", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("key of requestState: %w", err)
	}
	// A JSON array keeps its elements apart.
	bound, err := json.Marshal([]any{c.tool, c.given, jobID, expiry})
	if err != nil {
		return nil, fmt.Errorf("requestState: %w", err)
	}
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write(bound) // Never fails.
	return mac.Sum(nil), nil
}

// token is what the caller authenticates with.
func (c *call) token() string {
	if authorization := c.header.Get("Authorization"); authorization != "" {
		return authorization
	}
	return c.key
}

// canonical is the arguments as they always are, however a client orders the keys when it repeats them.
func (a arguments) canonical() (json.RawMessage, error) {
	given, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(given))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}
