package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/provisiond/provisiond/jobs"
	"github.com/provisiond/provisiond/provider"
)

func TestJobPage(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	job, path := f.asked(t, "region")
	b := f.signIn(t, f.person)
	page := "/jobs/" + job.ID
	r := b.get(t, page)
	wantStatus(t, r, http.StatusOK)
	wantText(t, r, "<title>Waits for an answer: Set up Thing, plan Region", "Questions to answer", `href="`+path+`"`, "Started.", "Asked for region.",
		"key “test” of kind agent", `role="status"`, `<noscript><meta http-equiv="refresh" content="5"></noscript>`,
		`<script src="/assets/job.js" type="module"></script>`, "Ends at the latest")

	part := b.get(t, page+"?fragment=1")
	wantStatus(t, part, http.StatusOK)
	etag := part.Header.Get("ETag")
	if strings.Contains(part.text, "<html") || !strings.Contains(r.text, strings.ReplaceAll(etag, `"`, "&#34;")) {
		t.Errorf("fragment %q %s", etag, part.text)
	}
	known := map[string]string{"If-None-Match": etag}
	wantStatus(t, b.do(t, http.MethodGet, page+"?fragment=1", "", known), http.StatusNotModified)
	for _, odd := range []string{"x", "-1", "1e9", "", "99999999999999999999"} {
		wantStatus(t, b.do(t, http.MethodGet, page+"?fragment=1&wait="+odd, "", map[string]string{"If-None-Match": `"other"`}), http.StatusOK)
	}

	// A request that is held is answered by the change.
	held := make(chan response, 1)
	go func() { held <- b.do(t, http.MethodGet, page+"?fragment=1&wait=20", "", known) }()
	wantStatus(t, b.post(t, path, url.Values{"action": {"accept"}, "field-0": {"0"}}), http.StatusSeeOther)
	changed := <-held
	wantStatus(t, changed, http.StatusOK)
	wantText(t, changed, "Queued", "<progress", `aria-label="Progress"`, "Answered region.", "you")

	f.work(t)
	f.until(t, job.ID, jobs.Succeeded)
	r = b.get(t, page)
	wantText(t, r, "<title>Done: ", "data-final", "Ended")
	if strings.Contains(r.text, "http-equiv") || strings.Contains(r.text, "<progress") {
		t.Error("the page of a finished job goes on asking")
	}
}

func TestJobPageSaysWhatFailed(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{failure: &provider.Error{Code: "no_room", Message: "There is <no> room"}})
	f.work(t)
	job := f.until(t, f.start(t, "plain").ID, jobs.Failed)
	r := f.signIn(t, f.person).get(t, "/jobs/"+job.ID)
	wantText(t, r, "There is &lt;no&gt; room. (no_room) The same start would fail again.", "Failed with no_room.")
}

func TestJobPageListsLeftovers(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	job := f.start(t, "region")
	_, err := f.pool.Exec(t.Context(), `
		UPDATE job SET leftovers = '[{"kind":"database","name":"db_1","reason":"it is in use"}]' WHERE id = $1`, job.ID)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, f.signIn(t, f.person).get(t, "/jobs/"+job.ID), "Left behind", "database db_1: it is in use")
}

func TestLongHistoryIsCut(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	job := f.start(t, "region")
	_, err := f.pool.Exec(t.Context(), `
		INSERT INTO event (id, tenant_id, job_id, type, actor) SELECT 'evt_' || n, $1, $2, 'odd.type', 'sweeper' FROM generate_series(1, 150) n`,
		f.tenant.ID, job.ID)
	if err != nil {
		t.Fatal(err)
	}
	r := f.signIn(t, f.person).get(t, "/jobs/"+job.ID)
	if n := strings.Count(r.text, "odd.type"); n != 100 || !strings.Contains(r.text, "Older lines") {
		t.Errorf("%d lines", n)
	}
}
