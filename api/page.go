package api

import (
	"bytes"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/provisiond/provisiond/api/pages"
	"github.com/provisiond/provisiond/jobs"
)

// Where the pages are.
const (
	signInPath  = "/sign-in"
	signOutPath = "/sign-out"
	// beginPath leads to the issuer, and callbackPath back.
	beginPath    = "/sign-in/begin"
	callbackPath = "/sign-in/callback"
	jobsPath     = "/jobs/"
	answersPath  = "/answer/"
)

func answerPath(questionID string) string { return answersPath + questionID }
func jobPath(jobID string) string         { return jobsPath + jobID }

// The forms of IDs, as in openapi.yaml. What has another form is not there.
var (
	jobIDForm      = regexp.MustCompile(`^job_[0-7][0-9a-hjkmnp-tv-z]{25}$`)
	questionIDForm = regexp.MustCompile(`^qst_[0-7][0-9a-hjkmnp-tv-z]{25}$`)
)

// What is not the person's is not there: the same words for both.
var (
	errNoJobPage      = &jobs.Error{Code: jobs.NotFound, Detail: "There is no such job, or it is not yours."}
	errNoQuestionPage = &jobs.Error{Code: jobs.NotFound, Detail: "There is no such question, or it is not yours."}
)

// pagePolicy lets a page load its own files and nothing else, and post to nobody else.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// registerPages serves the pages for people and what they load.
func (s *server) registerPages(r withHead) error {
	r.GET(signInPath, s.page(s.showSignIn))
	r.POST(signInPath, s.page(s.signIn))
	s.registerGate(r.Echo)
	r.POST(signOutPath, s.page(s.signOut))
	r.GET(answersPath+":question_id", s.page(s.signedIn(jobs.ScopeQuestionsAnswer, s.showQuestion)))
	r.POST(answersPath+":question_id", s.page(s.signedIn(jobs.ScopeQuestionsAnswer, s.takeAnswer)))
	r.GET(jobsPath+":job_id", s.page(s.signedIn(jobs.ScopeJobsRead, s.showJob)))
	assets, err := pages.Assets()
	if err != nil {
		return err
	}
	for name, asset := range assets {
		r.GET("/assets/"+name, func(c echo.Context) error { return serve(c, asset.ContentType, asset.Content) })
	}
	icon := assets[pages.Icon] // browsers ask for it at this path beside what is no page, such as JSON
	r.GET("/favicon.ico", func(c echo.Context) error { return serve(c, icon.ContentType, icon.Content) })
	return nil
}

// isPage reports whether people look at what is at the path, be there a page or not.
func isPage(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.Contains([]string{"sign-in", "sign-out", "jobs", "answer"}, first)
}

// page does what all pages have in common: their headers, and no posts from other sites.
func (s *server) page(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		setPageHeaders(c.Response().Header())
		if err := s.visits.crossOrigin.Check(c.Request()); err != nil {
			return &fault{status: http.StatusForbidden, code: jobs.InvalidRequest, detail: "The form was sent from another site, so it was not taken."}
		}
		return next(c)
	}
}

func setPageHeaders(h http.Header) {
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Cache-Control", "no-store")
	// Not no-referrer: with that, browsers send "Origin: null" with our own forms, and over plain
	// http nothing else tells them from those of another site.
	h.Set("Referrer-Policy", "same-origin")
}

// showProblem writes a problem for people.
func showProblem(c echo.Context, p *Problem) error {
	setPageHeaders(c.Response().Header()) // the request may not have come to the page
	m := pages.Message{Heading: p.Title, Text: deref(p.Detail), Faults: faultsInWords(p.Errors)}
	if p.Status >= http.StatusInternalServerError {
		m.RequestID = p.RequestID
	}
	return show(c, p.Status, pages.Page{Title: p.Title, SignedIn: callOf(c).caller.KeyID != "", Body: m})
}

// show answers with a page.
func show(c echo.Context, status int, p pages.Page) error {
	var page bytes.Buffer
	if err := pages.Render(&page, p); err != nil {
		return err
	}
	return c.HTMLBlob(status, page.Bytes())
}
