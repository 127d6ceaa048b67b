-- +goose Up

-- A deletion that an agent has asked for is confirmed by a person. The release before makes no such
-- question, and reads the origin as text.
ALTER TABLE question
    DROP CONSTRAINT question_origin_check,
    ADD CONSTRAINT question_origin_check CHECK (origin IN ('parameter', 'cost', 'destroy', 'provider'));
