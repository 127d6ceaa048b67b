package api_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/provisiond/provisiond/api"
)

const nobodysJob = "/v1/jobs/job_01h455vb4pex5vsknk084sn02q"

// Every kind of bad request, with what is said of it. A value with the canary in it must not come back.
func TestBadInput(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	const start = "/v1/instances"
	body := func(fields string) request {
		return request{method: "POST", path: start, body: `{"service":"thing","plan":"plain",` + fields + `}`}
	}
	raw := func(text string) request { return request{method: "POST", path: start, body: text} }
	get := func(path string) request { return request{method: "GET", path: path} }
	with := func(r request, name, value string) request {
		r.header = map[string]string{name: value}
		return r
	}
	const (
		inv = "invalid_request"
		ok  = `{"service":"thing","plan":"plain"}`
	)
	for _, tt := range []struct {
		name     string
		request  request
		status   int
		code     string
		pointers string // of errors, separated by spaces
	}{
		{"unknown field", body(`"canary-51c0ffee":1`), 422, inv, "/canary-51c0ffee"},
		{"other case", raw(`{"Service":"thing","plan":"plain"}`), 422, inv, "/Service /service"},
		{"missing fields", raw(`{"name":"a"}`), 422, inv, "/plan /service"},
		{"all faults at once", raw(`{"service":"` + canary + `!","name":"` + canary + `!","bind":"` + canary + `","labels":{"-":1},"x":1}`), 422, inv,
			"/bind /labels/- /labels/- /name /plan /service /x"},
		{"wrong type", body(`"name":["` + canary + `"]`), 422, inv, "/name"},
		{"null", body(`"name":null`), 422, inv, "/name"},
		{"enum", body(`"on_question":"` + canary + `"`), 422, inv, "/on_question"},
		{"name", body(`"name":"UPPER ` + canary + `"`), 422, inv, "/name"},
		{"name too long", body(`"name":"` + strings.Repeat("a", 64) + `"`), 422, inv, "/name"},
		{"newline at the end", body(`"name":"` + canary + `\n"`), 422, inv, "/name"},
		{"too many parameters", body(`"parameters":{` + fields(101) + `}`), 422, inv, "/parameters"},
		{"too many labels", body(`"labels":{` + fields(17) + `}`), 422, inv, "/labels"},
		{"label value", body(`"labels":{"a":"` + strings.Repeat(canary, 20) + `"}`), 422, inv, "/labels/a"},
		{"label key", body(`"labels":{"a b":"x"}`), 422, inv, "/labels/a b"},
		{"long unknown field", body(`"` + strings.Repeat("long/", 100) + `":1`), 422, inv, "/" + strings.Repeat("long~1", 12) + "long…"},
		{"not an object", raw(`["` + canary + `"]`), 422, inv, ""},
		{"unknown service", raw(`{"service":"canary-51c0ffee","plan":"plain"}`), 422, "unknown_service", "/service"},
		{"unknown plan", raw(`{"service":"thing","plan":"canary-51c0ffee"}`), 422, "unknown_plan", "/plan"},
		{"unknown parameter", body(`"parameters":{"size":"` + canary + `"}`), 422, inv, "/parameters/size"},
		{"parameter", raw(`{"service":"thing","plan":"region","parameters":{"region":"` + canary + `","token":"x"}}`), 422, inv,
			"/parameters/region /parameters/token /parameters/token"}, // too short, and only a person may give it

		{"empty body", raw(" "), 400, inv, ""},
		{"truncated", raw(`{"service":"` + canary), 400, inv, ""},
		{"not JSON", raw(canary), 400, inv, ""},
		{"trailing data", raw(ok + `{"` + canary + `":1}`), 400, inv, ""},
		{"duplicate key", raw(`{"service":"thing","service":"` + canary + `","plan":"plain"}`), 400, inv, "/service"},
		{"duplicate key deep", body(`"parameters":{"a":[{"b":1,"\u0062":"` + canary + `"}]}`), 400, inv, "/parameters/a/0/b"},
		{"deep nesting", body(`"parameters":{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`), 400, inv, "/parameters"},
		{"very deep nesting", raw(strings.Repeat("[", 200_000)), 400, inv, ""},
		{"NUL in a string", body(`"parameters":{"a":"` + canary + `\u0000"}`), 400, inv, "/parameters/a"},
		{"NUL in a key", body(`"parameters":{"a\u0000":1}`), 400, inv, "/parameters/a\x00"},
		{"invalid UTF-8", body("\"name\":\"" + canary + "\xff\""), 400, inv, ""},
		{"half a surrogate pair", body(`"parameters":{"a":"\ud83d` + canary + `"}`), 400, inv, ""},
		{"huge number", body(`"parameters":{"a":1e309}`), 400, inv, "/parameters/a"},
		{"tiny number", body(`"parameters":{"a":1e-999999999}`), 400, inv, "/parameters/a"},
		{"number that would be rounded", body(`"parameters":{"a":9007199254740993}`), 400, inv, "/parameters/a"},

		{"no content type", with(raw(ok), "Content-Type", ""), 415, "unsupported_media_type", ""},
		{"form", with(raw(ok), "Content-Type", "application/x-www-form-urlencoded"), 415, "unsupported_media_type", ""},
		{"charset", with(raw(ok), "Content-Type", "application/json; charset=latin1"), 415, "unsupported_media_type", ""},
		{"bad content type", with(raw(ok), "Content-Type", canary+";;"), 415, "unsupported_media_type", ""},
		{"content encoding", with(raw(ok), "Content-Encoding", "gzip"), 415, "unsupported_media_type", ""},
		{"too large", body(`"name":"` + strings.Repeat("a", 1<<20) + `"`), 413, "body_too_large", ""},
		{"too large, not wanted", request{method: "DELETE", path: "/v1/instances/inst_01h455vb4pex5vsknk084sn02q", body: strings.Repeat("a", 1<<20+1)}, 413, "body_too_large", ""},

		{"idempotency key empty", with(raw(ok), "Idempotency-Key", ""), 400, inv, "header/Idempotency-Key header/Idempotency-Key"},
		{"idempotency key too long", with(raw(ok), "Idempotency-Key", strings.Repeat("k", 256)), 400, inv, "header/Idempotency-Key"},
		{"idempotency key with spaces", with(raw(ok), "Idempotency-Key", "a "+canary), 400, inv, "header/Idempotency-Key"},
		{"idempotency key in Latin-1", with(raw(ok), "Idempotency-Key", "\xe4"+canary), 400, inv, "header/Idempotency-Key"},
		{"header too long", with(get(nobodysJob), "Prefer", strings.Repeat(canary, 20)), 400, inv, "header/Prefer"},

		{"unknown query", get("/v1/jobs?canary-51c0ffee=1&b=2"), 400, inv, "query/b query/canary-51c0ffee"},
		{"repeated query", get("/v1/jobs?limit=1&limit=2"), 400, inv, "query/limit"},
		{"malformed query", get("/v1/jobs?state=%zz" + canary), 400, inv, "query"},
		{"semicolon", get("/v1/jobs?a;b"), 400, inv, "query"},
		{"all query faults", get("/v1/jobs?limit=0&state=" + canary + "&service=A&cursor="), 400, inv,
			"query/cursor query/limit query/service query/state"},
		{"limit", get("/v1/jobs?limit=" + canary), 400, inv, "query/limit"},
		{"limit beyond 64 bits", get("/v1/jobs?limit=99999999999999999999"), 400, inv, "query/limit"},
		{"wait", get(nobodysJob + "?wait=-1"), 400, inv, "query/wait"},
		{"wait fraction", get(nobodysJob + "?wait=1.5"), 400, inv, "query/wait"},
		{"cursor", get("/v1/jobs?cursor=" + canary), 400, "invalid_cursor", ""},
		{"label", get("/v1/jobs?label=" + canary), 400, inv, "query/label"},
		{"label NUL", get("/v1/jobs?label=a%3D%00"), 400, inv, "query/label"},
		{"label invalid UTF-8", get("/v1/jobs?label=a%3D%ff"), 400, inv, "query/label"},
		{"labels that exclude each other", get("/v1/jobs?label=a%3D1&label=a%3D2"), 400, inv, "query/label"},
		{"query of another operation", get("/v1/services?wait=1"), 400, inv, "query/wait"},

		{"ID of another kind", get("/v1/jobs/inst_01h455vb4pex5vsknk084sn02q"), 400, inv, "path/job_id"},
		{"ID too long", get(nobodysJob + "q"), 400, inv, "path/job_id"},
		{"ID in capitals", get("/v1/jobs/JOB_01H455VB4PEX5VSKNK084SN02Q"), 400, inv, "path/job_id"},
		{"ID with slash", get("/v1/jobs/job_%2F" + canary), 400, inv, "path/job_id"},
		{"dots", get("/v1/jobs/.."), 400, inv, "path/job_id"},
		{"escaped dots", get("/v1/jobs/..%2F..%2Fetc"), 400, inv, "path/job_id"},
		{"escaped", get("/v1/jobs/%6aob_01h455vb4pex5vsknk084sn02q"), 404, "not_found", ""},
		{"escaped twice", get("/v1/jobs/%256aob_01h455vb4pex5vsknk084sn02q"), 400, inv, "path/job_id"},
		{"emoji", get("/v1/jobs/%F0%9F%92%A9"), 400, inv, "path/job_id"},
		{"NUL", get("/v1/jobs/%00"), 400, inv, "path/job_id"},
		{"invalid UTF-8 in the path", get("/v1/jobs/%ff"), 400, inv, "path/job_id"},
		{"10 kB", get("/v1/jobs/" + strings.Repeat("a", 10_000)), 400, inv, "path/job_id"},
		{"no ID", get("/v1/jobs/"), 404, "not_found", ""},
		{"service", get("/v1/services/" + canary + "!"), 400, inv, "path/service_id"},
		{"two IDs", request{method: "POST", path: "/v1/jobs/a/questions/b/answer", body: `{"action":"cancel"}`}, 400, inv, "path/job_id path/question_id"},
		{"answer", request{method: "POST", path: nobodysJob + "/questions/qst_01h455vb4pex5vsknk084sn02q/answer", body: `{"action":"` + canary + `","content":1}`}, 422, inv, "/action /content"},
		{"no such question", request{method: "POST", path: nobodysJob + "/questions/qst_01h455vb4pex5vsknk084sn02q/answer", body: `{"action":"cancel"}`}, 404, "not_found", ""},
		{"unknown path", get("/v1/" + canary), 404, "not_found", ""},
		{"below a path", get(nobodysJob + "/x"), 404, "not_found", ""},
		{"method", request{method: "PUT", path: nobodysJob}, 405, "method_not_allowed", ""},
		{"own method", request{method: "CANARY", path: nobodysJob}, 405, "method_not_allowed", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := f.send(t, tt.request)
			p := wantProblem(t, r, tt.status, tt.code)
			if got := pointers(p); got != tt.pointers {
				t.Errorf("pointers %q, want %q: %s", got, tt.pointers, r.text)
			}
			if strings.Contains(strings.ReplaceAll(r.text, `/canary-51c0ffee"`, ""), canary) {
				t.Errorf("the submitted value is in the answer: %s", r.text)
			}
			if tt.status == http.StatusMethodNotAllowed && r.Header.Get("Allow") != "OPTIONS, GET, HEAD" {
				t.Errorf("Allow %q", r.Header.Get("Allow"))
			}
			if len(r.text) > 8<<10 {
				t.Errorf("the answer has %d bytes", len(r.text))
			}
		})
	}
	t.Cleanup(func() {
		if strings.Contains(f.log.String(), canary) {
			t.Error("a submitted value is in the log")
		}
		if got := f.log.entries(t, 500); len(got) > 0 {
			t.Errorf("got %v", got)
		}
	})
}

// fields writes n fields of an object.
func fields(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"f%d":"x"`, i)
	}
	return strings.Join(all, ",")
}

func pointers(p api.Problem) string {
	if p.Errors == nil {
		return ""
	}
	var all []string
	for _, e := range *p.Errors {
		if e.Pointer != "" {
			all = append(all, e.Pointer)
		}
	}
	return strings.Join(all, " ")
}

// What is wrong with the message itself, as net/http's client would never send it.
func TestBadMessages(t *testing.T) {
	t.Parallel()
	f := newFixture(t, driver{})
	auth := "Host: x\r\nAuthorization: Bearer " + f.key + "\r\nContent-Type: application/json\r\n"
	for _, tt := range []struct {
		name, message string
		status        int
	}{
		{"chunked and too large", "POST /v1/instances HTTP/1.1\r\n" + auth + "Transfer-Encoding: chunked\r\n\r\n" +
			strings.Repeat("10000\r\n"+strings.Repeat(" ", 0x10000)+"\r\n", 17) + "0\r\n\r\n", 413},
		{"bad chunk", "POST /v1/instances HTTP/1.1\r\n" + auth + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
		{"two keys", "GET /v1/jobs HTTP/1.1\r\n" + auth + "Authorization: Bearer " + f.key + "\r\n\r\n", 401},
		{"two content types", "POST /v1/instances HTTP/1.1\r\n" + auth + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", 415},
		{"two idempotency keys", "POST /v1/instances HTTP/1.1\r\n" + auth + "Idempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: 2\r\n\r\n{}", 400},
		{"two lines of a list", "GET " + nobodysJob + " HTTP/1.1\r\n" + auth + "If-None-Match: \"1\"\r\nIf-None-Match: \"2\"\r\n\r\n", 404},
		{"asterisk", "OPTIONS * HTTP/1.1\r\n" + auth + "\r\n", 200}, // net/http's own
		{"absolute form", "GET http://x" + nobodysJob + " HTTP/1.1\r\n" + auth + "\r\n", 404},
		{"dots in the middle", "GET /v1/../v1/jobs HTTP/1.1\r\n" + auth + "\r\n", 404},
		{"two slashes", "GET //v1/jobs HTTP/1.1\r\n" + auth + "\r\n", 404},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			// The server may answer and close before it has read all.
			_, _ = conn.Write([]byte(tt.message))
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != tt.status {
				t.Errorf("status %d, want %d", res.StatusCode, tt.status)
			}
		})
	}
}
