package api_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/provisiond/provisiond/jobs"
	"github.com/provisiond/provisiond/provider"
)

// everyField is a question with every type of field that there is.
const everyField = `{"type":"object","required":["line","count","sure","mode","many"],"properties":{
	"line":  {"type":"string","title":"A line","description":"Some words","minLength":2,"maxLength":20},
	"long":  {"type":"string","maxLength":2000},
	"mail":  {"type":"string","format":"email"},
	"link":  {"type":"string","format":"uri"},
	"day":   {"type":"string","format":"date"},
	"time":  {"type":"string","format":"date-time"},
	"count": {"type":"integer","title":"Count","minimum":1,"maximum":9},
	"ratio": {"type":"number","default":0.5},
	"sure":  {"type":"boolean","title":"Sure"},
	"mode":  {"type":"string","title":"Mode","enum":["slow","fast"]},
	"zone":  {"type":"string","oneOf":[{"const":"a","title":"Zone A"},{"const":"b","title":"Zone B"}],"default":"b"},
	"city":  {"type":"string","enum":["1","2","3","4","5","6","7"]},
	"many":  {"type":"array","title":"Many","items":{"type":"string","enum":["x","y","z"]},"maxItems":2},
	"named": {"type":"array","items":{"anyOf":[{"const":"p","title":"The P"},{"const":"q","title":"The Q"}]}}}}`

// The fields of everyField as the form names them: the required ones, then the others by name.
var fieldOf = map[string]string{
	"line": "field-0", "count": "field-1", "sure": "field-2", "mode": "field-3", "many": "field-4",
	"city": "field-5", "day": "field-6", "link": "field-7", "long": "field-8", "mail": "field-9",
	"named": "field-10", "ratio": "field-11", "time": "field-12", "zone": "field-13",
}

// filled is a form with the fields by their names in the schema.
func filled(action string, fields map[string][]string) url.Values {
	form := url.Values{"action": {action}}
	for name, values := range fields {
		form[fieldOf[name]] = values
	}
	return form
}

func askingFor(schema string, secret bool) *asking {
	return &asking{question: &provider.Question{
		Name: "details", Message: "What <exactly> do you want?", Schema: json.RawMessage(schema), Secret: secret, PersonOnly: secret,
	}}
}

// asked starts a job and comes to its one open question.
func (f *pageFixture) asked(t testing.TB, plan string) (job jobs.Job, path string) {
	t.Helper()
	job = f.until(t, f.start(t, plan).ID, jobs.AwaitingInput)
	return job, "/answer/" + job.Questions[0].ID
}

func TestEveryTypeOfField(t *testing.T) {
	t.Parallel()
	d := askingFor(everyField, false)
	f := newPages(t, d)
	f.work(t)
	job, path := f.asked(t, "plain")
	b := f.signIn(t, f.person)
	r := b.get(t, path)
	wantStatus(t, r, http.StatusOK)
	wantText(t, r,
		"What &lt;exactly&gt; do you want?", "key “test” of kind agent", "Set up Thing, plan Plain", "shop", job.ID, "in 24 hours",
		`<label for="field-0">A line</label>`, "Some words. From 2 to 20 characters.", `<textarea id="field-8"`, `type="email"`, `type="url"`,
		`type="date"`, `type="datetime-local"`, "The time is in UTC.", `inputmode="numeric"`, `value="0.5"`, `<legend>Sure</legend>`,
		`<legend>Mode</legend>`, "Zone A", `<select id="field-5"`, `type="checkbox"`, "The Q", "(optional)", `aria-describedby="field-0-hint"`,
		`name="field-13" value="1" checked`, `value="accept">Accept`, `value="decline" aria-describedby="decline-hint">Decline`)

	r = b.post(t, path, filled("accept", map[string][]string{
		"line": {" two words "}, "long": {"one\r\ntwo"}, "mail": {"a@b.example"}, "link": {"https://x.example/"}, "day": {"2026-02-28"},
		"time": {"2026-02-28T12:30"}, "count": {" 3 "}, "ratio": {"1.25"}, "sure": {"1"}, "mode": {"1"}, "zone": {"0"},
		"city": {"6"}, "many": {"0", "2"}, "named": {"1"},
	}))
	wantStatus(t, r, http.StatusSeeOther)
	if r.Header.Get("Location") != "/jobs/"+job.ID {
		t.Errorf("Location %q", r.Header.Get("Location"))
	}
	got, err := json.Marshal(<-d.got)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"city":"7","count":3,"day":"2026-02-28","line":" two words ","link":"https://x.example/","long":"one\ntwo",` +
		`"mail":"a@b.example","many":["x","z"],"mode":"fast","named":["q"],"ratio":1.25,"sure":false,"time":"2026-02-28T12:30:00Z","zone":"a"}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	f.until(t, job.ID, jobs.Succeeded)
}

func TestWrongAnswersAreShownAgain(t *testing.T) {
	t.Parallel()
	d := askingFor(everyField, false)
	f := newPages(t, d)
	f.work(t)
	job, path := f.asked(t, "plain")
	b := f.signIn(t, f.person)
	for _, tt := range []struct {
		name   string
		fields map[string][]string
		want   []string
	}{
		{"nothing", nil, []string{"A line is required.", "Count is required.", "Sure is required.", "Mode is required.", `href="#field-2-0"`}},
		{"short", map[string][]string{"line": {"a"}}, []string{"A line must have at least 2 characters.", `value="a"`, `href="#field-0"`, `aria-invalid="true"`}},
		{"no number", map[string][]string{"count": {"three"}}, []string{"Count must be of type integer.", `value="three"`}},
		{"fraction", map[string][]string{"count": {"1.5"}}, []string{"Count must be of type integer."}},
		{"huge number", map[string][]string{"count": {"1e999999999"}}, []string{"Count must be of type integer."}},
		{"not in the list", map[string][]string{"mode": {"7"}, "city": {"-1"}}, []string{"Mode must be of type string.", "city must be of type string."}},
		{"too many", map[string][]string{"many": {"0", "1", "2"}}, []string{"Many must have at most 2 items.", `value="2" checked`}},
		{"strange choice", map[string][]string{"many": {"0", "x"}}, []string{"Many must be of type string."}},
		{"no address", map[string][]string{"mail": {"nobody"}}, []string{"mail must have the format email."}},
		{"no date", map[string][]string{"day": {"2026-02-31"}}, []string{"day must have the format date."}},
		{"no time", map[string][]string{"time": {"noon"}}, []string{"time must have the format date-time."}},
		{"NUL", map[string][]string{"line": {"a\x00b"}}, []string{"A line must not contain the NUL character."}},
		{"bad UTF-8", map[string][]string{"line": {"a\xffb"}}, []string{"A line must be valid UTF-8."}},
		{"markup", map[string][]string{"line": {`"><script>alert(1)</script>`}}, []string{"A line must have at most 20 characters.", "&#34;&gt;&lt;script&gt;"}},
	} {
		r := b.post(t, path, filled("accept", tt.fields))
		if r.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: status %d", tt.name, r.StatusCode)
		}
		wantText(t, r, append(tt.want, "<title>Error: ", "There is a problem", "autofocus")...)
	}
	for name, body := range map[string]string{
		"no action": "", "another action": "action=cancel", "not encoded": "action=%zz", "semicolons": "a;b", "json": `{"action":"accept"}`,
	} {
		if r := b.do(t, http.MethodPost, path, body, nil); r.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: status %d", name, r.StatusCode)
		}
	}
	if j := f.until(t, job.ID, jobs.AwaitingInput); j.Version != job.Version {
		t.Error("a wrong answer changed the job")
	}
}

func TestSecretAnswers(t *testing.T) {
	t.Parallel()
	d := askingFor(`{"type":"object","required":["pin","count"],"properties":{
		"pin":{"type":"string","minLength":30,"default":"`+canary+canary+`"},"count":{"type":"integer","maximum":5}}}`, true)
	f := newPages(t, d)
	f.work(t)
	job, path := f.asked(t, "plain")
	b := f.signIn(t, f.person)
	r := b.get(t, path)
	if strings.Count(r.text, `type="password" autocomplete="off"`) != 2 || strings.Contains(r.text, canary) {
		t.Errorf("got %s", r.text)
	}
	r = b.post(t, path, url.Values{"action": {"accept"}, "field-0": {canary}, "field-1": {"77"}})
	wantStatus(t, r, http.StatusUnprocessableEntity)
	wantText(t, r, "pin must have at least 30 characters.", "count must be at most 5.")
	if strings.Contains(r.text, canary) || strings.Contains(r.text, "77") {
		t.Errorf("the secret is shown: %s", r.text)
	}
	long := canary + canary
	r = b.post(t, path, url.Values{"action": {"accept"}, "field-0": {long}, "field-1": {"3"}})
	wantStatus(t, r, http.StatusSeeOther)
	if got := <-d.got; got["pin"] != long {
		t.Error("the driver got another answer")
	}
	f.until(t, job.ID, jobs.Succeeded)
	for _, page := range []string{path, "/jobs/" + job.ID} {
		if r := b.get(t, page); strings.Contains(r.text, canary) {
			t.Errorf("%s shows the secret", page)
		}
	}
	if strings.Contains(f.log.String(), canary) {
		t.Error("the secret is in the log")
	}
}

func TestAcceptingAPrice(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	f.work(t)
	job, path := f.asked(t, "paid")
	b := f.signIn(t, f.person)
	if r := b.get(t, path); strings.Contains(r.text, "fieldset") {
		t.Errorf("it asks twice: %s", r.text)
	}
	wantStatus(t, b.post(t, path, url.Values{"action": {"accept"}}), http.StatusSeeOther)
	f.until(t, job.ID, jobs.Succeeded)
}

func TestPriceAndDecline(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	f.work(t)
	job, path := f.asked(t, "paid")
	b := f.signIn(t, f.person)
	wantText(t, b.get(t, path), "5.00 USD per month", "Do you accept the cost?", "Without an answer the job fails then.")
	r := b.post(t, path, url.Values{"action": {"decline"}})
	wantStatus(t, r, http.StatusSeeOther)
	f.until(t, job.ID, jobs.Canceled)
	wantText(t, b.get(t, path), "This question was declined", "The job was canceled for that")
	r = b.post(t, path, url.Values{"action": {"accept"}})
	wantStatus(t, r, http.StatusConflict)
	wantText(t, r, "This question was declined")
	wantText(t, b.get(t, "/jobs/"+job.ID), "Canceled", "Declined confirm_cost.", "you")
}

// An answer to a price that has changed counts for nothing, and the page leads to the new question.
func TestAChangedPrice(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	job, path := f.asked(t, "paid")
	dearer := f.withCatalog(t, strings.Replace(pageCatalog, `"5.00"`, `"6.00"`, 1))
	b := dearer.signIn(t, f.person)
	r := b.post(t, path, url.Values{"action": {"accept"}})
	wantStatus(t, r, http.StatusConflict)
	after, err := f.Get(t.Context(), f.agent, job.ID)
	if err != nil || len(after.Questions) != 2 {
		t.Fatalf("questions %+v (%v)", after.Questions, err)
	}
	again := "/answer/" + after.Questions[1].ID
	wantText(t, r, "The price has changed", "Your answer was not taken.", "The job asks", `href="`+again+`"`)
	wantText(t, b.get(t, again), "6.00 USD per month")
	wantText(t, b.get(t, path), "This question was withdrawn", `href="`+again+`"`)
}

// Of two tabs with the same question the first one counts.
func TestTwoTabs(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	job, path := f.asked(t, "region")
	first, second := f.signIn(t, f.person), f.signIn(t, f.person)
	answers := []response{}
	var mu sync.Mutex
	var tabs sync.WaitGroup
	for i, b := range []*browser{first, second} {
		tabs.Go(func() {
			r := b.post(t, path, url.Values{"action": {"accept"}, "field-0": {[]string{"0", "1"}[i]}})
			mu.Lock()
			defer mu.Unlock()
			answers = append(answers, r)
		})
	}
	tabs.Wait()
	won := 0
	for _, r := range answers {
		if r.StatusCode == http.StatusSeeOther {
			won++
			continue
		}
		wantStatus(t, r, http.StatusConflict)
		wantText(t, r, "This question is already answered", `href="/jobs/`+job.ID)
	}
	if won != 1 {
		t.Errorf("%d answers were taken", won)
	}
	r := first.get(t, path)
	wantStatus(t, r, http.StatusOK)
	wantText(t, r, "This question is already answered")
}

func TestAnExpiredQuestion(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	job := f.start(t, "short") // no sweep has seen it yet, but it has expired
	path := "/answer/" + job.Questions[0].ID
	b := f.signIn(t, f.person)
	check := func() {
		t.Helper()
		r := b.get(t, path)
		wantStatus(t, r, http.StatusOK)
		wantText(t, r, "This question has expired")
		r = b.post(t, path, url.Values{"action": {"accept"}, "field-0": {"0"}})
		wantStatus(t, r, http.StatusConflict)
		wantText(t, r, "This question has expired")
	}
	check()
	f.work(t)
	f.until(t, job.ID, jobs.Failed)
	check()
	wantText(t, b.get(t, "/jobs/"+job.ID), "Failed", "question_expired", "The question region expired.")
}

func TestAWithdrawnQuestion(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	job, path := f.asked(t, "region")
	if _, err := f.Cancel(t.Context(), f.agent, job.ID, ""); err != nil {
		t.Fatal(err)
	}
	b := f.signIn(t, f.person)
	wantText(t, b.get(t, path), "This question was withdrawn")
	r := b.post(t, path, url.Values{"action": {"accept"}, "field-0": {"0"}})
	wantStatus(t, r, http.StatusConflict)
	wantText(t, r, "This question was withdrawn")
}

func TestNotYoursIsNotThere(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	job, path := f.asked(t, "region")
	other, err := jobs.NewAdmin(f.pool).CreateTenant(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	stranger := f.signIn(t, f.newKey(t, jobs.NewKey{TenantID: other.ID, Kind: jobs.KindPerson, Scopes: jobs.AllScopes()}))
	for own, none := range map[string]string{path: "/answer/qst_01h455vb4pex5vsknk084sn02q", "/jobs/" + job.ID: "/jobs/job_01h455vb4pex5vsknk084sn02q"} {
		r, want := stranger.get(t, own), stranger.get(t, none)
		wantStatus(t, r, http.StatusNotFound)
		if r.text != want.text {
			t.Errorf("another answer than for what is not there: %s", r.text)
		}
	}
	wantStatus(t, stranger.post(t, path, url.Values{"action": {"decline"}}), http.StatusNotFound)
	wantStatus(t, stranger.get(t, "/jobs/"+job.ID+"?fragment=1&wait=5"), http.StatusNotFound)
	for _, odd := range []string{"/answer/x", "/answer/qst_%00", "/answer/%ff", "/answer/" + job.ID, "/jobs/x%2Fy", "/jobs/" + strings.Repeat("a", 5000)} {
		wantStatus(t, stranger.get(t, odd), http.StatusNotFound)
	}
}

func TestPagesNeedScopes(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	job, path := f.asked(t, "region")
	reader := f.signIn(t, f.newKey(t, jobs.NewKey{TenantID: f.tenant.ID, Kind: jobs.KindPerson, Scopes: []string{jobs.ScopeJobsRead}}))
	r := reader.get(t, path)
	wantStatus(t, r, http.StatusForbidden)
	wantText(t, r, jobs.ScopeQuestionsAnswer)
	wantStatus(t, reader.post(t, path, url.Values{"action": {"decline"}}), http.StatusForbidden)
	if r := reader.get(t, "/jobs/"+job.ID); strings.Contains(r.text, path) {
		t.Error("the job's page leads to a question that the person may not answer")
	}
	answerer := f.signIn(t, f.newKey(t, jobs.NewKey{TenantID: f.tenant.ID, Kind: jobs.KindAdmin, Scopes: []string{jobs.ScopeQuestionsAnswer}}))
	wantStatus(t, answerer.get(t, "/jobs/"+job.ID), http.StatusForbidden)
	if r := answerer.get(t, path); strings.Contains(r.text, `href="/jobs/`) {
		t.Error("the question's page leads to a job that the person may not see")
	}
	r = answerer.post(t, path, url.Values{"action": {"accept"}, "field-0": {"0"}})
	wantStatus(t, r, http.StatusSeeOther)
	if r.Header.Get("Location") != path {
		t.Errorf("Location %q", r.Header.Get("Location"))
	}
}
