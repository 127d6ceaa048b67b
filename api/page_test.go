package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Whatever goes wrong below the paths of pages, a browser gets a page.
func TestProblemsOfPagesArePages(t *testing.T) {
	t.Parallel()
	f := newPages(t, &asking{})
	job := f.start(t, "region")
	path := "/answer/" + job.Questions[0].ID
	large := "action=accept&field-0=" + strings.Repeat("x", 3<<20)
	b := f.signIn(t, f.person)
	for _, tt := range []struct {
		name, method, path, body string
		status                   int
		text                     []string
	}{
		{"large answer", http.MethodPost, path, large, http.StatusRequestEntityTooLarge, []string{"at most 1 MiB"}},
		{"large key", http.MethodPost, "/sign-in", large, http.StatusRequestEntityTooLarge, []string{"at most 1 MiB"}},
		{"no job", http.MethodGet, "/jobs", "", http.StatusNotFound, []string{"There is nothing at this path."}},
		{"below a job", http.MethodGet, "/jobs/" + job.ID + "/x", "", http.StatusNotFound, []string{"There is no such job"}},
		{"no question", http.MethodGet, "/answer/", "", http.StatusNotFound, []string{"<title>Not Found"}},
		{"below a question", http.MethodGet, path + "/x/y", "", http.StatusNotFound, []string{"There is no such question"}},
		{"another method", http.MethodPut, path, "", http.StatusMethodNotAllowed, []string{"does not take this method"}},
		{"no action", http.MethodPost, path, "", http.StatusBadRequest, []string{"The request has 1 error.", "<li>action must be accept or decline.</li>"}},
		{"no form", http.MethodPost, path, "%zz", http.StatusBadRequest, []string{"<li>the form must be of the form name=value"}},
	} {
		r := b.do(t, tt.method, tt.path, tt.body, nil)
		if r.StatusCode != tt.status || r.Header.Get("Content-Type") != "text/html; charset=UTF-8" {
			t.Errorf("%s: status %d, %s", tt.name, r.StatusCode, r.Header.Get("Content-Type"))
		}
		wantText(t, r, append(tt.text, "<h1>")...)
	}
	wantStatus(t, b.post(t, path, url.Values{"action": {"accept"}, "field-0": {"0"}}), http.StatusSeeOther)
}
