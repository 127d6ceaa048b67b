package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/provisiond/provisiond/api/pages"
	"github.com/provisiond/provisiond/jobs"
)

// visits is what is known of people's browsers beforehand.
type visits struct {
	// cookie and flowCookie are the names of the session's cookie and of that of a sign-in at the issuer.
	cookie, flowCookie string
	// secure keeps the cookie off plain http.
	secure bool
	// crossOrigin refuses forms that are posted from other sites.
	crossOrigin *http.CrossOriginProtection
}

func newVisits(public *url.URL) (visits, error) {
	v := visits{cookie: "provisiond", flowCookie: "provisiond-flow", secure: public.Scheme == "https", crossOrigin: http.NewCrossOriginProtection()}
	if v.secure {
		v.cookie = "__Host-provisiond"            // so no other host of the domain can set it
		v.flowCookie = "__Secure-provisiond-flow" // __Host- would want the path /
	}
	// A proxy may hand on another Host than the browser's.
	if err := v.crossOrigin.AddTrustedOrigin(public.Scheme + "://" + public.Host); err != nil {
		return visits{}, fmt.Errorf("the public URL: %w", err)
	}
	return v, nil
}

// set gives the browser a session, or takes it away where text is "".
func (v visits) set(c echo.Context, text string) {
	age := int(jobs.SessionTime / time.Second)
	if text == "" {
		age = -1
	}
	c.SetCookie(&http.Cookie{ //nolint:gosec // not Secure only where the public URL is plain http
		Name: v.cookie, Value: text, Path: "/", MaxAge: age,
		Secure: v.secure, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}

// visitor finds who is signed in. Error: Unauthenticated.
func (s *server) visitor(c echo.Context) (jobs.Caller, error) {
	text := ""
	if cookie, err := c.Cookie(s.visits.cookie); err == nil {
		text = cookie.Value
	}
	caller, err := s.service.Resume(c.Request().Context(), text)
	if err == nil {
		callOf(c).caller = caller
	}
	return caller, err
}

// signedIn is for pages that only a person with the scope may see.
func (s *server) signedIn(scope string, next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		caller, err := s.visitor(c)
		switch {
		case errors.Is(err, jobs.Unauthenticated):
			return s.askToSignIn(c)
		case err != nil:
			return err
		case !caller.Can(scope):
			return &jobs.Error{Code: jobs.InsufficientScope, Detail: fmt.Sprintf("Your key or account needs the scope %s for this page.", scope)}
		default:
			return next(c)
		}
	}
}

// askToSignIn sends a browser to sign in and to come back. One that follows a link from another site
// keeps a SameSite=Strict cookie back, so it is first led to ask again from here.
func (s *server) askToSignIn(c echo.Context) error {
	r := c.Request()
	path := localPath(r.URL.Path)
	switch {
	case isFragment(c):
		return c.NoContent(http.StatusUnauthorized)
	case path != "" && r.Method != http.MethodPost && r.Header.Get("Sec-Fetch-Site") == "cross-site":
		return show(c, http.StatusOK, pages.Page{Title: "Opening the page", Body: pages.Hop{To: path}})
	case path != "":
		return c.Redirect(http.StatusSeeOther, signInPath+"?return="+url.QueryEscape(path))
	default:
		return c.Redirect(http.StatusSeeOther, signInPath)
	}
}

var returnForm = regexp.MustCompile(`^/(answer/qst|jobs/job)_[0-7][0-9a-hjkmnp-tv-z]{25}$`)

// localPath is the path if it is one of the pages to come back to, or "": who follows a link must not
// end up elsewhere after signing in.
func localPath(path string) string {
	if !returnForm.MatchString(path) {
		return ""
	}
	return path
}

func (s *server) showSignIn(c echo.Context) error {
	caller, err := s.visitor(c)
	if err != nil && !errors.Is(err, jobs.Unauthenticated) {
		return err
	}
	back := localPath(c.QueryParam("return"))
	if err == nil && back != "" {
		return c.Redirect(http.StatusSeeOther, back)
	}
	view := s.signInPage(back)
	if isSubject(caller) {
		view.Subject = caller.KeyID
	} else {
		view.KeyID = caller.KeyID
	}
	return show(c, http.StatusOK, pages.Page{Title: "Sign in", SignedIn: err == nil, Body: view})
}

// signIn takes a key. What it says of a wrong one is the same for all that are no key.
func (s *server) signIn(c echo.Context) error {
	form, err := readForm(c.Request())
	if err != nil {
		return err
	}
	back := localPath(form.Get("return"))
	caller, text, err := s.service.SignIn(c.Request().Context(), strings.TrimSpace(form.Get("key")))
	refuse := func(status int, detail string) error {
		view := s.signInPage(back)
		view.Error = detail
		return show(c, status, pages.Page{Title: "Error: Sign in", Body: view})
	}
	switch {
	case errors.Is(err, jobs.Unauthenticated):
		c.Response().Header().Set("WWW-Authenticate", s.challenge(c, jobs.Unauthenticated))
		return refuse(http.StatusUnauthorized, "This is no key that is valid now.")
	case errors.Is(err, jobs.PersonRequired):
		return refuse(http.StatusForbidden, "This is the key of an agent or a service. Give a person's own key.")
	case err != nil:
		return err
	}
	callOf(c).caller = caller
	s.visits.set(c, text)
	return c.Redirect(http.StatusSeeOther, cmp.Or(back, signInPath))
}

// signOut makes the browser forget the session. A copy of the cookie would go on until it expires or
// the key is revoked.
func (s *server) signOut(c echo.Context) error {
	s.visits.set(c, "")
	return c.Redirect(http.StatusSeeOther, signInPath)
}

// readForm reads a posted form. Error: a *fault.
func readForm(r *http.Request) (url.Values, error) {
	err := r.ParseForm()
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, errBodyTooLarge
	case err != nil:
		return nil, malformed("", "the form must be of the form name=value&name=value, percent-encoded")
	default:
		return r.PostForm, nil
	}
}
