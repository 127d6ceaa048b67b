package e2e_test

import (
	"testing"

	"github.com/provisiond/provisiond/client"
)

// object is a JSON object.
type object = map[string]any

// request is a start of a plan; no parameters is none.
func request(service, plan string, parameters object) client.StartRequest {
	r := client.StartRequest{Service: service, Plan: plan}
	if parameters != nil {
		r.Parameters = &parameters
	}
	return r
}

// smallDatabase starts without a question.
func smallDatabase() client.StartRequest {
	return request("postgres", "small", object{"region": "eu"})
}

// tunable is the sandbox with its knobs as given.
func tunable(knobs object) client.StartRequest { return request("sandbox", "tunable", knobs) }

func start(t *testing.T, sdk *client.SDK, r client.StartRequest) *client.Accepted {
	t.Helper()
	accepted, err := sdk.Start(patient(t), r)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	return accepted
}

func getJob(t *testing.T, sdk *client.SDK, id string) *client.Job {
	t.Helper()
	resp, err := sdk.GetJobWithResponse(patient(t), id, nil)
	if err != nil {
		t.Fatalf("get job: %v", err)
	}
	if resp.JSON200 == nil {
		t.Fatalf("get job: %v", client.NewProblemError(resp.HTTPResponse, resp.Body))
	}
	return resp.JSON200
}

// waitJob waits until the job is not pending and fails the test unless it has come to the state.
func waitJob(t *testing.T, sdk *client.SDK, id string, want client.JobState) *client.Job {
	t.Helper()
	job, err := sdk.WaitJob(patient(t), id)
	if err != nil {
		t.Fatalf("wait for job %s: %v", id, err)
	}
	if job.State != want {
		t.Fatalf("job %s is %s, want %s; error %+v, progress %+v", id, job.State, want, job.Error, job.Progress)
	}
	return job
}

// openQuestion returns the job's open question of that name.
func openQuestion(t *testing.T, job *client.Job, name string) client.Question {
	t.Helper()
	for _, q := range job.Questions {
		if q.Name == name && q.State == client.Open {
			return q
		}
	}
	t.Fatalf("job %s (%s) has no open question %q: %+v", job.ID, job.State, name, job.Questions)
	return client.Question{}
}

// answer accepts a question with a content.
func answer(t *testing.T, sdk *client.SDK, job *client.Job, name string, content object) *client.Job {
	t.Helper()
	q := openQuestion(t, job, name)
	after, err := sdk.Answer(patient(t), job.ID, q.ID, client.AnswerRequest{Action: client.Accept, Content: &content})
	if err != nil {
		t.Fatalf("answer %s: %v", name, err)
	}
	return after
}

func credentials(t *testing.T, sdk *client.SDK, job *client.Job) map[string]string {
	t.Helper()
	c, err := sdk.Credentials(patient(t), *job.BindingID)
	if err != nil {
		t.Fatalf("credentials: %v", err)
	}
	return c.Credentials
}

func deprovision(t *testing.T, sdk *client.SDK, instanceID string) *client.Accepted {
	t.Helper()
	accepted, err := sdk.Deprovision(patient(t), instanceID)
	if err != nil {
		t.Fatalf("delete: %v", err)
	}
	return accepted
}

func getInstance(t *testing.T, sdk *client.SDK, id string) *client.Instance {
	t.Helper()
	resp, err := sdk.GetInstanceWithResponse(patient(t), id, nil)
	if err != nil {
		t.Fatalf("get instance: %v", err)
	}
	if resp.JSON200 == nil {
		t.Fatalf("get instance: %v", client.NewProblemError(resp.HTTPResponse, resp.Body))
	}
	return resp.JSON200
}

// confirmDeletion says yes as a person to what an agent wants to delete.
func (c *cluster) confirmDeletion(t *testing.T, job *client.Job) {
	t.Helper()
	answer(t, newSDK(t, c.balancer.URL, c.person), job, "confirm_destroy", object{"confirm": true})
}
