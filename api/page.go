package api

import (
	"bytes"
	"net/http"
	"regexp"
	"strconv"

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
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
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
	return nil
}

// page does what all pages have in common: their headers, no posts from other sites, and errors that
// people can read. It answers every error itself.
func (s *server) page(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("Cache-Control", "no-store")
		// Not no-referrer: with that, browsers send "Origin: null" with our own forms, and over plain
		// http nothing else tells them from those of another site.
		h.Set("Referrer-Policy", "same-origin")
		err := s.visits.crossOrigin.Check(c.Request())
		if err != nil {
			err = &fault{status: http.StatusForbidden, code: jobs.InvalidRequest, detail: "The form was sent from another site, so it was not taken."}
		} else {
			err = next(c)
		}
		if err == nil || c.Response().Committed {
			return err
		}
		return s.showError(c, err)
	}
}

// showError is writeProblem for people.
func (s *server) showError(c echo.Context, err error) error {
	if c.Request().Context().Err() != nil {
		return err // nobody reads it
	}
	call := callOf(c)
	p, retryAfter := s.problem(err, call)
	if p.Retryable {
		c.Response().Header().Set("Retry-After", strconv.Itoa(max(1, seconds(retryAfter))))
	}
	m := pages.Message{Heading: p.Title, Text: deref(p.Detail)}
	if p.Status >= http.StatusInternalServerError {
		m.RequestID = call.requestID
	}
	return show(c, p.Status, pages.Page{Title: p.Title, SignedIn: call.caller.KeyID != "", Body: m})
}

// show answers with a page.
func show(c echo.Context, status int, p pages.Page) error {
	var page bytes.Buffer
	if err := pages.Render(&page, p); err != nil {
		return err
	}
	return c.HTMLBlob(status, page.Bytes())
}
