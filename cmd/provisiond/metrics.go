package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/provisiond/provisiond/jobs"
)

var (
	jobsDesc = prometheus.NewDesc("provisiond_jobs",
		"Jobs that are not finished, in the whole database, by phase or state.", []string{"phase"}, nil)
	lapsedDesc = prometheus.NewDesc("provisiond_jobs_lease_lapsed",
		"Running jobs beyond their lease: their workers are dead or cut off. More than a moment above 0 means that no replica sweeps.", nil, nil)
	leftoversDesc = prometheus.NewDesc("provisiond_jobs_with_leftovers",
		"Finished jobs that left something behind; their leftovers list what.", nil, nil)
	instancesDesc = prometheus.NewDesc("provisiond_instances",
		"Instances that are not deleted, in the whole database, by state.", []string{"state"}, nil)
	orphansDesc = prometheus.NewDesc("provisiond_orphans",
		"What may be left outside, by whether it is tried again (retried) or needs an operator (stuck); provisiond orphans list shows it.", []string{"next"}, nil)
	oldestDesc = prometheus.NewDesc("provisiond_jobs_oldest_queued_seconds",
		"How long the first job in the queue has been waiting.", nil, nil)
)

// jobCollector counts jobs, instances and orphans in the database at each scrape. Every replica tells the same, so take one.
type jobCollector struct {
	service *jobs.Service
	log     *slog.Logger
}

// Describe implements prometheus.Collector.
func (c jobCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{jobsDesc, lapsedDesc, leftoversDesc, instancesDesc, orphansDesc, oldestDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector. While the database is away these metrics are absent, and
// the others are there.
func (c jobCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	stats, err := c.service.Stats(ctx)
	if err != nil {
		c.log.WarnContext(ctx, "jobs not counted for metrics", "error", err)
		return
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for phase, n := range stats.Jobs {
		gauge(jobsDesc, float64(n), phase)
	}
	gauge(lapsedDesc, float64(stats.LeaseLapsed))
	gauge(leftoversDesc, float64(stats.Leftovers))
	for state, n := range stats.Instances {
		gauge(instancesDesc, float64(n), string(state))
	}
	gauge(orphansDesc, float64(stats.Orphans-stats.OrphansStuck), "retried")
	gauge(orphansDesc, float64(stats.OrphansStuck), "stuck")
	gauge(oldestDesc, stats.OldestQueued.Seconds())
}
