package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/provisiond/provisiond/api/pages"
	"github.com/provisiond/provisiond/jobs"
)

const (
	// historyShown is how many lines of its history a job's page shows.
	historyShown = 100
	// refreshSeconds is how often the page is loaded again in browsers without JavaScript.
	refreshSeconds = 5
)

// isFragment reports whether the page's script asks for the part of it that changes.
func isFragment(c echo.Context) bool { return c.QueryParam("fragment") == "1" }

// showJob answers with the job's page or, for its script, with the part that changes: as GetJob does,
// it waits for that.
func (s *server) showJob(c echo.Context) error {
	id := pathValue(c, "job_id")
	if !jobIDForm.MatchString(id) {
		return errNoJobPage
	}
	if isFragment(c) {
		return s.showFragment(c, id)
	}
	job, err := s.service.Get(c.Request().Context(), callOf(c).caller, id)
	if errors.Is(err, jobs.NotFound) {
		return errNoJobPage
	}
	if err != nil {
		return err
	}
	view, err := s.viewJob(c, &job)
	if err != nil {
		return err
	}
	page := pages.Page{Title: view.Title, SignedIn: true, Refresh: refreshSeconds, Body: view}
	if job.State.Final() {
		page.Refresh = 0
	}
	return show(c, http.StatusOK, page)
}

func (s *server) showFragment(c echo.Context, id string) error {
	asked, _ := strconv.Atoi(c.QueryParam("wait")) // what is no number is no wait
	wait, _ := s.waitOf(&asked, nil)
	header := c.Request().Header.Get("If-None-Match")
	known := parseIfNoneMatch(&header)
	job, err := s.service.Wait(c.Request().Context(), callOf(c).caller, id, known.version(), wait)
	if errors.Is(err, jobs.NotFound) {
		return errNoJobPage
	}
	if err != nil {
		return err
	}
	etag := etagOf(job.Version)
	c.Response().Header().Set("ETag", etag)
	if known.matches(etag) {
		return c.NoContent(http.StatusNotModified)
	}
	view, err := s.viewJob(c, &job)
	if err != nil {
		return err
	}
	var part bytes.Buffer
	if err := pages.RenderBody(&part, view); err != nil {
		return err
	}
	return c.HTMLBlob(http.StatusOK, part.Bytes())
}

func (s *server) viewJob(c echo.Context, j *jobs.Job) (pages.Job, error) {
	ctx, caller := c.Request().Context(), callOf(c).caller
	about, err := s.about(ctx, caller, j)
	if err != nil {
		return pages.Job{}, err
	}
	events, err := s.service.LatestEvents(ctx, caller, j.ID, historyShown+1)
	if err != nil {
		return pages.Job{}, err
	}
	about.MayWatch = false // no link to this very page
	state := stateInWords(j)
	view := pages.Job{
		About: about, ETag: etagOf(j.Version), Title: state + ": " + about.What,
		State: state, Mood: string(j.State), Final: j.State.Final(),
		Failure: failureInWords(j), Leftovers: leftoversInWords(j),
		Started: pages.NewMoment(j.CreatedAt, j.Now), Deadline: pages.NewMoment(j.DeadlineAt, j.Now),
		History: historyInWords(events[:min(len(events), historyShown)], caller, j.Now), More: len(events) > historyShown,
	}
	if j.State == jobs.Pending { // in the other states the progress says no more than the state
		view.Working, view.Percent, view.Message = true, j.Progress.Percent, j.Progress.Message
	}
	if caller.Can(jobs.ScopeQuestionsAnswer) {
		view.Questions = openQuestions(j)
	}
	if j.FinishedAt != nil {
		at := pages.NewMoment(*j.FinishedAt, j.Now)
		view.Finished = &at
	}
	return view, nil
}

// about says who wants what with the job.
func (s *server) about(ctx context.Context, caller jobs.Caller, j *jobs.Job) (pages.About, error) {
	origin, err := s.service.OriginOf(ctx, caller, j.ID)
	if err != nil {
		return pages.About{}, err
	}
	service, plan := j.Service, j.Plan
	about := pages.About{
		Who: keyInWords(origin.StartedBy, origin.KeyKind, origin.KeyName), Instance: origin.InstanceName,
		JobID: j.ID, MayWatch: caller.Can(jobs.ScopeJobsRead),
	}
	if offered, ok := s.service.Catalog().Service(j.Service); ok {
		service = offered.Name
		if p, ok := offered.Plan(j.Plan); ok {
			plan = p.Name
			if p.Price != nil && j.Operation == jobs.OpProvision {
				about.Price = p.Price.String()
			}
		}
	}
	about.What = operationInWords(j.Operation) + " " + service + ", plan " + plan
	return about, nil
}
