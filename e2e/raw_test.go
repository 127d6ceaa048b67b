package e2e_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
)

// response is an answer that was read whole.
type response struct {
	status int
	header http.Header
	body   string
}

func (r response) String() string { return fmt.Sprintf("%d %s", r.status, r.body) }

// do sends a request to the cluster with the agent's key, without the SDK's care.
func (c *cluster) do(t *testing.T, method, path, body string, header http.Header) response {
	t.Helper()
	resp, err := c.try(t, c.balancer.URL, method, path, body, header)
	if err != nil {
		t.Fatalf("%s %.200s: %v", method, path, err)
	}
	return resp
}

// try is do for any base URL and with an error for what comes to no answer.
func (c *cluster) try(t *testing.T, base, method, path, body string, header http.Header) (response, error) {
	req, err := http.NewRequestWithContext(patient(t), method, base+path, strings.NewReader(body))
	if err != nil {
		return response{}, err
	}
	req.Header.Set("Authorization", "Bearer "+c.agent)
	req.Header.Set("Content-Type", "application/json")
	maps.Copy(req.Header, header)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return response{}, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	return response{resp.StatusCode, resp.Header, string(content)}, err
}
