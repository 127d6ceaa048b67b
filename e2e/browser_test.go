//go:build interop

package e2e_test

import (
	"encoding/json"
	"maps"
	"os/exec"
	"testing"

	"github.com/provisiond/provisiond/client"
)

// TestInteropPages looks at the pages as people do, in Chromium, behind the balancer: what they say, that
// axe finds no fault with their accessibility, and that the browser reports no error. e2e/node/pages.mjs
// holds what people do; the tests here make what they find. Screenshots are left in e2e/artifacts.
func TestInteropPages(t *testing.T) {
	t.Parallel()
	c := newCluster(t, options{workers: 1})
	b := &pageBrowser{cluster: c, sdk: c.sdk(t)}
	b.chromium, b.stranger = findChromium(t), b.otherTenant(t)
	for name, test := range map[string]func(t *testing.T){
		"sign in":        func(t *testing.T) { b.visit(t, "signIn", b.asked(t, colour("colour", 0))) },
		"from elsewhere": func(t *testing.T) { b.visit(t, "fromElsewhere", b.asked(t, colour("colour", 0))) },
		"every field": func(t *testing.T) {
			job := b.asked(t, everyField())
			b.visit(t, "everyField", job)
			waitJob(t, b.sdk, job.ID, client.JobStateSucceeded)
		},
		"phone": func(t *testing.T) { b.visit(t, "phone", b.asked(t, everyField())) },
		"wrong answer": func(t *testing.T) {
			job := b.asked(t, everyField())
			b.visit(t, "wrongAnswer", job)
			openQuestion(t, getJob(t, b.sdk, job.ID), "details")
		},
		"large answer": func(t *testing.T) {
			job := b.asked(t, everyField())
			b.visit(t, "largeAnswer", job)
			openQuestion(t, getJob(t, b.sdk, job.ID), "details")
		},
		"secret": func(t *testing.T) {
			secret := question(object{"pin": object{"type": "string", "title": "PIN", "minLength": 4}}, "pin")
			secret["secret"] = true
			job := b.asked(t, secret)
			b.visit(t, "secret", job)
			waitJob(t, b.sdk, job.ID, client.JobStateSucceeded)
		},
		"price": func(t *testing.T) {
			accepted := start(t, b.sdk, request("sandbox", "guided", object{"region": "eu", "admin_password": canary + "-price"}))
			b.visit(t, "price", &accepted.Job)
		},
		"expired": func(t *testing.T) {
			short := colour("colour", 0)
			short["expiry"] = "1s"
			job := b.asked(t, short)
			eventually(t, "the question expires", func() bool { return getJob(t, b.sdk, job.ID).State == client.JobStateFailed })
			b.visit(t, "expired", job)
		},
		"answered": func(t *testing.T) {
			job := b.asked(t, colour("colour", 0))
			answer(t, b.sdk, job, "colour", object{"colour": "red"})
			b.visit(t, "answered", job)
		},
		"declined": func(t *testing.T) {
			job := b.asked(t, colour("colour", 0))
			b.visit(t, "declined", job)
			waitJob(t, b.sdk, job.ID, client.JobStateCanceled)
		},
		"withdrawn": func(t *testing.T) {
			job := b.asked(t, colour("colour", 0))
			if _, err := b.sdk.CancelJobWithResponse(patient(t), job.ID, nil); err != nil {
				t.Fatal(err)
			}
			waitJob(t, b.sdk, job.ID, client.JobStateCanceled)
			b.visit(t, "withdrawn", job)
		},
		"not found":          func(t *testing.T) { b.visit(t, "notFound", b.asked(t, colour("colour", 0))) },
		"two tabs":           func(t *testing.T) { b.visit(t, "twoTabs", b.asked(t, colour("colour", 0))) },
		"live job":           func(t *testing.T) { b.visit(t, "liveJob", b.asked(t, colour("colour", 0))) },
		"without JavaScript": func(t *testing.T) { b.visit(t, "withoutJavaScript", b.asked(t, colour("colour", 0))) },
		"working": func(t *testing.T) {
			b.visit(t, "working", &start(t, b.sdk, tunable(object{"duration": "1h", "steps": 3})).Job)
		},
		"failed": func(t *testing.T) {
			accepted := start(t, b.sdk, tunable(object{"fail_at_step": 1, "failure": object{
				"code": "no_room", "message": "There is no <room>", "retryable": false,
			}}))
			b.visit(t, "failed", waitJob(t, b.sdk, accepted.JobID, client.JobStateFailed))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// pageBrowser runs Chromium before a cluster.
type pageBrowser struct {
	*cluster

	sdk      *client.SDK
	chromium string
	stranger string // the key of a person of another tenant
}

func findChromium(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("the test needs Chromium: %v", err)
	}
	return path
}

func (b *pageBrowser) otherTenant(t *testing.T) string {
	t.Helper()
	command(t, b.environ(), "tenants", "create", "other")
	return command(t, b.environ(), "keys", "create", "--tenant", "other", "--kind", "person")
}

// visit does what pages.mjs knows by that name, with the job and its first question, if it has any.
func (b *pageBrowser) visit(t *testing.T, scenario string, job *client.Job) {
	t.Helper()
	visit := object{
		"scenario": scenario, "chromium": b.chromium, "artifacts": artifacts(t), "url": b.balancer.URL,
		"person": b.person, "agent": b.agent, "stranger": b.stranger, "job": "/jobs/" + job.ID,
	}
	if len(job.Questions) > 0 {
		visit["question"] = "/answer/" + job.Questions[0].ID
	}
	text, err := json.Marshal(visit)
	if err != nil {
		t.Fatal(err)
	}
	runNode(t, []string{"VISIT=" + string(text)}, "pages.mjs")
}

// asked starts a job and waits for its question.
func (b *pageBrowser) asked(t *testing.T, question object) *client.Job {
	t.Helper()
	accepted := start(t, b.sdk, tunable(object{"questions": []object{question}}))
	return waitJob(t, b.sdk, accepted.JobID, client.JobStateAwaitingInput)
}

// question is one of the sandbox's for the properties.
func question(properties object, required ...string) object {
	return object{
		"name": "details", "message": "What do you want?",
		"schema": object{"type": "object", "required": required, "properties": properties},
	}
}

// everyField is a question with every type of field that there is.
func everyField() object {
	properties := object{
		"line":  object{"type": "string", "title": "A line", "description": "Some words", "minLength": 2, "maxLength": 20},
		"count": object{"type": "integer", "title": "Count", "minimum": 1, "maximum": 9},
		"sure":  object{"type": "boolean", "title": "Sure"},
		"mode":  object{"type": "string", "title": "Mode", "enum": []string{"slow", "fast"}},
		"many":  object{"type": "array", "title": "Many", "items": object{"type": "string", "enum": []string{"x", "y", "z"}}, "minItems": 1, "maxItems": 2},
	}
	optional := object{
		"city":  object{"type": "string", "title": "City", "enum": []string{"Aachen", "Bonn", "Celle", "Dessau", "Emden", "Fulda", "Gera"}},
		"day":   object{"type": "string", "title": "Day", "format": "date"},
		"link":  object{"type": "string", "title": "Link", "format": "uri"},
		"long":  object{"type": "string", "title": "Long text", "maxLength": 2000},
		"mail":  object{"type": "string", "title": "Mail", "format": "email"},
		"ratio": object{"type": "number", "title": "Ratio", "default": 0.5},
		"time":  object{"type": "string", "title": "Time", "format": "date-time"},
		"zone": object{"type": "string", "title": "Zone", "default": "b", "oneOf": []object{
			{"const": "a", "title": "Zone A"}, {"const": "b", "title": "Zone B"},
		}},
	}
	maps.Copy(properties, optional)
	return question(properties, "line", "count", "sure", "mode", "many")
}
