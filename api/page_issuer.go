package api

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/provisiond/provisiond/api/pages"
	"github.com/provisiond/provisiond/jobs"
)

// registerGate serves signing in at the issuer. Both pages do something, so none answers HEAD.
func (s *server) registerGate(e *echo.Echo) {
	if s.gate != nil {
		e.GET(beginPath, s.page(s.beginSignIn))
		e.GET(callbackPath, s.page(s.finishSignIn))
	}
}

// setFlow gives the browser a flow, or takes it away where text is "". The provider leads the browser
// back from another site, so the cookie is SameSite=Lax and not Strict.
func (v visits) setFlow(c echo.Context, text string) {
	age := int(jobs.FlowTime / time.Second)
	if text == "" {
		age = -1
	}
	c.SetCookie(&http.Cookie{ //nolint:gosec // not Secure only where the public URL is plain http
		Name: v.flowCookie, Value: text, Path: callbackPath, MaxAge: age,
		Secure: v.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// signInPage is the view of a browser that is not signed in yet.
func (s *server) signInPage(back string) pages.SignIn {
	view := pages.SignIn{Return: back}
	if s.gate != nil {
		view.Issuer = s.gate.host
	}
	return view
}

// beginSignIn leads to the issuer. It is reached by a link: the policy of the pages forbids a form that
// ends at another site.
func (s *server) beginSignIn(c echo.Context) error {
	back := localPath(c.QueryParam("return"))
	flow, text, err := s.service.BeginFlow(back)
	if err != nil {
		return err
	}
	to, err := s.gate.authorization(flow)
	if err != nil {
		return s.refuseSignIn(c, back, err)
	}
	s.visits.setFlow(c, text)
	return c.Redirect(http.StatusSeeOther, to)
}

// finishSignIn takes a person back from the issuer. It ends with a page that goes on by itself, not with
// a redirect: after one, the browser would still come from another site and keep the new cookie back.
func (s *server) finishSignIn(c echo.Context) error {
	text := ""
	if cookie, err := c.Cookie(s.visits.flowCookie); err == nil {
		text = cookie.Value
	}
	flow, err := s.service.ResumeFlow(text, c.QueryParam("state"))
	if err != nil {
		return s.refuseSignIn(c, "", err)
	}
	s.visits.setFlow(c, "") // it is good once
	if declined := c.QueryParam("error"); declined != "" {
		return s.refuseSignIn(c, flow.Return, s.gate.declined(declined))
	}
	caller, until, err := s.gate.enter(c.Request().Context(), flow, c.QueryParam("code"))
	if err != nil {
		return s.refuseSignIn(c, flow.Return, err)
	}
	session, err := s.service.SignInAs(caller, until)
	if err != nil {
		return s.refuseSignIn(c, flow.Return, err)
	}
	callOf(c).caller = caller
	s.visits.set(c, session)
	return show(c, http.StatusOK, pages.Page{Title: "Opening the page", Body: pages.Hop{To: cmp.Or(flow.Return, signInPath)}})
}

// refuseSignIn says what went wrong where the person can begin again. Other errors it returns.
func (s *server) refuseSignIn(c echo.Context, back string, err error) error {
	var core *jobs.Error
	refused, ok := errors.AsType[*refusedSignIn](err)
	switch {
	case ok:
	case errors.Is(err, jobs.Unauthenticated) && errors.As(err, &core):
		refused = &refusedSignIn{http.StatusBadRequest, core.Detail, nil}
	case errors.Is(err, jobs.PersonRequired):
		refused = &refusedSignIn{
			http.StatusForbidden, s.gate.host + " says that you are an agent or a service. Only a person can sign in.", err,
		}
	default:
		return err
	}
	callOf(c).cause = refused.cause
	view := s.signInPage(back)
	view.Refused = refused.text
	return show(c, refused.status, pages.Page{Title: "Error: Sign in", Body: view})
}
