-- +goose Up

-- The whole life of an instance: changes, several bindings, rotation, expiry, checks, leftovers.

ALTER TABLE instance
    -- The plan's version in the catalog that the instance is pinned to; empty for those made before.
    ADD COLUMN plan_version      text NOT NULL DEFAULT '',
    ADD COLUMN expires_at        timestamptz,
    -- When the end is to be announced; null once it is.
    ADD COLUMN warn_at           timestamptz,
    -- Sealed: a digest of the service's driver and configuration with which the instance was made or last found;
    -- null for those that no worker has had, and those made before.
    ADD COLUMN config_digest     bytea,
    -- Refuses every deletion until it is taken off.
    ADD COLUMN protected         boolean NOT NULL DEFAULT false,
    -- What a failed update left behind.
    ADD COLUMN usable            boolean NOT NULL DEFAULT true,
    ADD COLUMN update_repeatable boolean NOT NULL DEFAULT true,
    -- The last check that came to its end, and what it found.
    ADD COLUMN checked_at        timestamptz,
    ADD COLUMN findings          jsonb NOT NULL DEFAULT '[]',
    -- When the plan wants the next one.
    ADD COLUMN check_at          timestamptz;

CREATE INDEX instance_by_expiry ON instance (expires_at)
    WHERE expires_at IS NOT NULL AND state IN ('provisioning', 'active');
CREATE INDEX instance_by_warning ON instance (warn_at) WHERE warn_at IS NOT NULL AND state IN ('provisioning', 'active');
CREATE INDEX instance_by_check ON instance (check_at) WHERE check_at IS NOT NULL AND state = 'active';

ALTER TABLE binding
    ADD COLUMN name           text,
    ADD COLUMN job_id         text, -- the last job on the binding; null for the one made with the instance
    ADD COLUMN expires_at     timestamptz,
    ADD COLUMN renew_before   timestamptz,
    ADD COLUMN predecessor_id text,
    -- How long the predecessor lives on once this binding is there.
    ADD COLUMN overlap        interval,
    -- Deleted for its users, and not yet removed outside.
    ADD COLUMN removing       boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT binding_removing CHECK (NOT removing OR state = 'deleted');

CREATE UNIQUE INDEX binding_live_name ON binding (instance_id, name) WHERE name IS NOT NULL AND state <> 'deleted';
CREATE INDEX binding_by_expiry ON binding (expires_at) WHERE expires_at IS NOT NULL AND state = 'active';
CREATE INDEX binding_removing ON binding (id) WHERE removing;

ALTER TABLE job
    DROP CONSTRAINT job_operation_check,
    ADD CONSTRAINT job_operation_check
        CHECK (operation IN ('provision', 'update', 'deprovision', 'bind', 'rotate', 'unbind', 'check')),
    -- Sealed: what an update changes the instance to.
    ADD COLUMN change bytea,
    ADD CONSTRAINT job_change CHECK ((operation = 'update') OR change IS NULL);

-- How many are before a job in the queue.
CREATE INDEX job_in_queue ON job (driver, id) WHERE phase = 'queued' AND waits_for IS NULL AND attempts = 0;

-- What may be left outside after a job that could not remove it.
CREATE TABLE orphan (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL,
    instance_id text NOT NULL,
    binding_id  text,
    job_id      text NOT NULL, -- the one that left it
    service     text NOT NULL,
    driver      text NOT NULL,
    kind        text NOT NULL,
    name        text NOT NULL,
    reason      text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    tries       int NOT NULL DEFAULT 0,
    tried_at    timestamptz,
    -- When the next try is due; null where only an operator can go on.
    retry_at    timestamptz,
    -- How it ended: removed by a later job, or forgotten by an operator.
    ended_at    timestamptz,
    ending      text CHECK (ending IN ('removed', 'forgotten')),
    CHECK ((ended_at IS NULL) = (ending IS NULL)),
    CHECK (ended_at IS NULL OR retry_at IS NULL)
);

CREATE UNIQUE INDEX orphan_open ON orphan (instance_id, kind, name) WHERE ended_at IS NULL;
CREATE INDEX orphan_by_retry ON orphan (retry_at) WHERE retry_at IS NOT NULL;

-- What the sandbox's object was made or updated with, so that a check can see a change.
ALTER TABLE sandbox_object ADD COLUMN detail text NOT NULL DEFAULT '';
