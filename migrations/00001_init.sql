-- +goose Up

CREATE TABLE tenant (
    id         text PRIMARY KEY,
    name       text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Only the SHA-256 of a key is stored: keys hold 192 random bits, so a fast hash is enough.
CREATE TABLE api_key (
    id           text PRIMARY KEY,
    tenant_id    text NOT NULL REFERENCES tenant,
    kind         text NOT NULL CHECK (kind IN ('agent', 'person', 'service', 'admin')),
    name         text NOT NULL,
    scopes       text[] NOT NULL,
    hash         bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz
);

-- The tables below it have no foreign key to tenant of their own: their instance or job has, and each
-- key costs a start call a lock of the tenant's row.
CREATE TABLE instance (
    id                text PRIMARY KEY,
    tenant_id         text NOT NULL REFERENCES tenant,
    name              text,
    service           text NOT NULL,
    plan              text NOT NULL,
    driver            text NOT NULL,
    -- The plan's driver settings at the start call, so that a plan removed since can still be deleted.
    settings          jsonb NOT NULL,
    parameters        jsonb NOT NULL,
    secret_parameters bytea, -- sealed
    labels            jsonb NOT NULL CHECK (jsonb_typeof(labels) = 'object'),
    state             text NOT NULL CHECK (state IN ('provisioning', 'active', 'deprovisioning', 'deleted', 'failed')),
    start_digest      bytea, -- sealed; tells an equal start of the name from a different one
    endpoint          jsonb,
    provider_state    bytea, -- sealed; the driver's last checkpoint
    -- Whether the driver was ever called: without that there is nothing outside to clean up.
    touched           boolean NOT NULL DEFAULT false,
    job_id            text NOT NULL, -- the last job; no foreign key, jobs are removed by retention
    created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at        timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE UNIQUE INDEX instance_live_name ON instance (tenant_id, name)
    WHERE name IS NOT NULL AND state NOT IN ('deleted', 'failed');
CREATE INDEX instance_by_tenant ON instance (tenant_id, id);

CREATE TABLE binding (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL,
    instance_id text NOT NULL REFERENCES instance ON DELETE CASCADE,
    state       text NOT NULL CHECK (state IN ('pending', 'active', 'deleted')),
    credentials bytea, -- sealed
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK ((state = 'active') = (credentials IS NOT NULL))
);

CREATE INDEX binding_by_instance ON binding (instance_id, id);

CREATE TABLE job (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL,
    instance_id text NOT NULL REFERENCES instance ON DELETE CASCADE,
    binding_id  text,
    operation   text NOT NULL CHECK (operation IN ('provision', 'deprovision')),
    -- The instance's, so that a poll reads one table.
    service     text NOT NULL,
    plan        text NOT NULL,
    driver      text NOT NULL,
    state       text NOT NULL CHECK (state IN ('pending', 'awaiting_input', 'succeeded', 'failed', 'canceled')),
    phase       text CHECK (phase IN ('queued', 'running', 'waiting_on_provider')),
    -- Somebody wants the job canceled; the worker that runs it sees this at once.
    cancel_requested boolean NOT NULL DEFAULT false,
    -- How the job will end, once what it made is cleaned up. The clean-up has begun.
    ending      text CHECK (ending IN ('failed', 'canceled')),
    -- The job on the same instance that must end before this one may run.
    waits_for   text,
    -- The fence: raised whenever the right to run the job passes on. A worker's writes carry its epoch.
    epoch       bigint NOT NULL DEFAULT 1,
    version     bigint NOT NULL DEFAULT 1,
    owner       text,
    lease_until timestamptz,
    -- When the sweep must look at the job: lease end, wake-up, question expiry, deadline.
    due_at      timestamptz,
    deadline_at timestamptz NOT NULL,
    -- Failed tries in a row, for the back-off.
    attempts    int NOT NULL DEFAULT 0,
    on_question text NOT NULL CHECK (on_question IN ('ask', 'fail')),
    answers     bytea, -- sealed; given in advance by the start call
    progress    jsonb NOT NULL,
    error       jsonb,
    leftovers   jsonb NOT NULL DEFAULT '[]',
    labels      jsonb NOT NULL CHECK (jsonb_typeof(labels) = 'object'), -- the instance's at the start of the job
    created_by  text NOT NULL, -- a key
    -- Whether that was a person's key: its answers in advance may be to questions for persons.
    by_person   boolean NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The working time left when it began to await input: waiting for people does not count against the deadline.
    work_left   interval,
    finished_at timestamptz,
    CONSTRAINT job_phase CHECK ((state = 'pending') = (phase IS NOT NULL)),
    CONSTRAINT job_lease CHECK ((phase IS NOT DISTINCT FROM 'running') = (owner IS NOT NULL)
        AND (owner IS NULL) = (lease_until IS NULL)),
    CONSTRAINT job_work_left CHECK ((state = 'awaiting_input') = (work_left IS NOT NULL)),
    CONSTRAINT job_finished CHECK ((state IN ('succeeded', 'failed', 'canceled')) = (finished_at IS NOT NULL)),
    CONSTRAINT job_due CHECK ((finished_at IS NULL AND waits_for IS NULL) = (due_at IS NOT NULL)),
    CONSTRAINT job_error CHECK ((coalesce(ending, state) = 'failed') = (error IS NOT NULL)),
    CONSTRAINT job_ending CHECK (ending IS NULL OR state IN ('pending', ending)),
    CONSTRAINT job_waits CHECK (waits_for IS NULL OR phase = 'queued')
);

CREATE UNIQUE INDEX job_one_live ON job (instance_id) WHERE finished_at IS NULL AND waits_for IS NULL;
CREATE UNIQUE INDEX job_one_waiting ON job (instance_id) WHERE waits_for IS NOT NULL;
CREATE INDEX job_due ON job (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX job_by_tenant ON job (tenant_id, id);
CREATE INDEX job_by_instance ON job (instance_id, id);
CREATE INDEX job_by_end ON job (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE question (
    id             text PRIMARY KEY,
    tenant_id      text NOT NULL,
    job_id         text NOT NULL REFERENCES job ON DELETE CASCADE,
    name           text NOT NULL,
    message        text NOT NULL,
    schema         jsonb NOT NULL,
    secret         boolean NOT NULL,
    answerable_by  text NOT NULL CHECK (answerable_by IN ('any', 'person')),
    origin         text NOT NULL CHECK (origin IN ('parameter', 'cost', 'provider')),
    default_answer jsonb,
    -- The price and plan version that a cost question was asked for.
    quote          jsonb,
    state          text NOT NULL CHECK (state IN ('open', 'answered', 'expired', 'withdrawn')),
    answer         bytea, -- sealed
    asked_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at     timestamptz NOT NULL,
    answered_at    timestamptz,
    answered_by    text,
    CHECK ((state = 'answered') = (answered_at IS NOT NULL)),
    CHECK (answer IS NULL OR state IN ('answered', 'expired')),
    CHECK ((origin = 'cost') = (quote IS NOT NULL))
);

CREATE UNIQUE INDEX question_one_open ON question (job_id, name) WHERE state = 'open';
CREATE INDEX question_by_job ON question (job_id, id);

CREATE TABLE event (
    seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id          text NOT NULL,
    tenant_id   text NOT NULL,
    job_id      text,
    instance_id text,
    type        text NOT NULL,
    actor       text NOT NULL,
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    data        jsonb NOT NULL DEFAULT '{}'
);

CREATE INDEX event_by_job ON event (job_id, seq) WHERE job_id IS NOT NULL;

CREATE TABLE idempotency (
    tenant_id  text NOT NULL REFERENCES tenant,
    key        text NOT NULL,
    digest     bytea NOT NULL, -- sealed; of the request
    existing   boolean NOT NULL, -- whether the first answer was 200 rather than 202
    response   jsonb NOT NULL, -- the job as first answered; holds no secret
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, key)
);

CREATE INDEX idempotency_by_age ON idempotency (created_at);

-- Who is alive to run jobs; a hint for people, nothing depends on it.
CREATE TABLE worker (
    id         text PRIMARY KEY,
    drivers    text[] NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- What the sandbox driver "made outside". No unique name: a test must be able to see a double.
CREATE TABLE sandbox_object (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    instance_id text NOT NULL,
    kind        text NOT NULL,
    name        text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX sandbox_object_by_name ON sandbox_object (name);
