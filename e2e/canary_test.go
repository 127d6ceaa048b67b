package e2e_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/provisiond/provisiond/client"
)

// TestSecretsAppearNowhere lets secrets go all ways that there are, and looks for them where they must
// not be: logs, answers, results of tools, and a plain dump of the database.
func TestSecretsAppearNowhere(t *testing.T) {
	t.Parallel()
	c := newCluster(t, options{env: map[string]string{"PROVISIOND_LOG_LEVEL": "debug"}})
	bodies := &output{changed: make(chan struct{})}
	// What the answer with the credentials holds is all that may be told.
	sdk := c.sdk(t, client.WithTransport(recording(bodies, "/credentials")))
	password := canary + "-parameter"
	secret := colour("token", 1)
	secret["secret"] = true

	given := start(t, sdk, request("sandbox", "guided", object{"region": "eu", "admin_password": password}))
	started := start(t, sdk, request("sandbox", "guided", object{"region": "eu"}))
	asked := start(t, sdk, tunable(object{"questions": []object{secret}}))
	database := start(t, sdk, smallDatabase())
	wrong := request("sandbox", "guided", object{"region": canary, "admin_password": canary})
	if _, err := sdk.Start(patient(t), wrong); err == nil || strings.Contains(err.Error(), canary) {
		t.Errorf("start with a region that is none: %v", err)
	}
	job := answer(t, sdk, &started.Job, "admin_password", object{"admin_password": password})
	confirmCost(t, sdk, job)
	confirmCost(t, sdk, &given.Job)
	answer(t, sdk, waitJob(t, sdk, asked.JobID, client.JobStateAwaitingInput), "token", object{"token": canary})

	// The API keys are the agent's own but nobody else's business.
	secrets := []string{canary, c.agent, c.person}
	for _, accepted := range []*client.Accepted{given, started, asked, database} {
		job := waitJob(t, sdk, accepted.JobID, client.JobStateSucceeded)
		secrets = append(secrets, credentials(t, sdk, job)["password"])
	}
	lookAround(t, c, sdk, started.JobID)
	useTools(t, c, bodies, database.InstanceID)
	c.do(t, http.MethodGet, "/v1/jobs/"+canary+"?wait="+canary, "", http.Header{"Idempotency-Key": {canary}})
	waitJob(t, sdk, deprovision(t, sdk, started.InstanceID).JobID, client.JobStateSucceeded)

	places := map[string]string{"bodies of answers": bodies.String(), "dump of the database": dump(t, c.databaseURL)}
	for _, r := range c.replicas() {
		r.terminate(t)
		places["log of "+r.name] = r.out.String()
	}
	for place, text := range places {
		for i, secret := range secrets {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("%s: secret %d, near: %.300s", place, i, text[max(0, at-150):])
			}
		}
	}
}

// confirmCost accepts the cost of a job that asks for it.
func confirmCost(t *testing.T, sdk *client.SDK, job *client.Job) {
	t.Helper()
	for _, q := range job.Questions {
		if q.State == client.Open && q.Price != nil {
			answer(t, sdk, job, q.Name, object{"confirm": true})
		}
	}
}

// lookAround reads all that there is to read.
func lookAround(t *testing.T, c *cluster, sdk *client.SDK, jobID string) {
	t.Helper()
	ctx := patient(t)
	_, err := sdk.ListJobEventsWithResponse(ctx, jobID, nil)
	if err == nil {
		_, err = sdk.ListJobsWithResponse(ctx, nil)
	}
	if err == nil {
		_, err = sdk.ListInstancesWithResponse(ctx, nil)
	}
	if err == nil {
		_, err = sdk.ListServicesWithResponse(ctx, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	// A key that may not.
	limited := newSDK(t, c.balancer.URL, c.person+"x")
	if _, err := limited.GetJobWithResponse(ctx, jobID, nil); err != nil {
		t.Fatal(err)
	}
}

// useTools puts into bodies what the tools of an agent without credentials:read give.
func useTools(t *testing.T, c *cluster, bodies io.Writer, instanceID string) {
	t.Helper()
	limited := *c
	limited.agent = command(t, c.environ(), "keys", "create", "--tenant", "shop")
	a := &rawAgent{c: &limited}
	for tool, arguments := range map[string]object{
		"list_jobs": {}, "list_instances": {}, "list_services": {},
		"get_instance": {"instance_id": instanceID}, "get_credentials": {"instance_id": instanceID},
		"start_provision": {"service": "sandbox", "plan": "guided", "answers": object{"admin_password": canary}},
	} {
		content, ok := a.call(t, tool, arguments)
		if tool == "get_credentials" && ok {
			t.Error("an agent without credentials:read was given credentials")
		}
		_, _ = bodies.Write(content)
	}
}

// recording is a transport that copies the bodies of answers, but for paths with that end.
func recording(to io.Writer, except string) http.RoundTripper {
	var mu sync.Mutex
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil || strings.HasSuffix(r.URL.Path, except) {
			return resp, err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(body))
		mu.Lock()
		defer mu.Unlock()
		for name, values := range resp.Header {
			_, _ = io.WriteString(to, name+": "+strings.Join(values, ", ")+"\n")
		}
		_, _ = to.Write(body)
		return resp, err
	})
}

// dump is a plain dump of the database, by PostgreSQL's own tool.
func dump(t *testing.T, databaseURL string) string {
	t.Helper()
	url, _, _ := strings.Cut(databaseURL, "?pool_max_conns")
	url, _, _ = strings.Cut(url, "&pool_max_conns")
	cmd := exec.CommandContext(patient(t), pgTool(t, "pg_dump"), "--inserts", "--dbname", url)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	if !bytes.Contains(out, []byte("sandbox_object")) {
		t.Fatal("pg_dump: no tables")
	}
	return string(out)
}

// pgTool finds a program of PostgreSQL's beside the server.
func pgTool(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	out, err := exec.Command("pg_config", "--bindir").Output()
	if err != nil {
		t.Fatalf("%s is not in PATH, and pg_config is not either: %v", name, err)
	}
	return strings.TrimSpace(string(out)) + "/" + name
}
