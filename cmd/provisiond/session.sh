URL={{.URL}}
KEY={{.Agent}}
api() { curl -sS -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' "$@"; echo; }
field() { sed -n 's/.*"'"$1"'": *"\([^"]*\)".*/\1/p' | head -n 1; }

echo '# Start. It answers at once with a job. The plan wants a region, and we give none.'
STARTED=$(api "$URL/v1/instances" -d '{"service": "postgres", "plan": "small"}')
echo "$STARTED"
JOB=$(echo "$STARTED" | grep -o '"id": *"job_[^"]*"' | field id)

echo '# Poll. The job awaits input and says what.'
ASKED=$(api "$URL/v1/jobs/$JOB?wait=20")
echo "$ASKED"
QUESTION=$(echo "$ASKED" | grep -o '"id": *"qst_[^"]*"' | field id)

echo '# Answer the question.'
api "$URL/v1/jobs/$JOB/questions/$QUESTION/answer" -d '{"action": "accept", "content": {"region": "eu"}}'

echo '# Poll. It returns the moment the database is there.'
FINISHED=$(api "$URL/v1/jobs/$JOB?wait=20")
echo "$FINISHED"
BINDING=$(echo "$FINISHED" | field binding_id)

echo '# Read the credentials, and look into the database if there is a psql.'
CREDENTIALS=$(api "$URL/v1/bindings/$BINDING/credentials")
echo "$CREDENTIALS"
command -v psql > /dev/null && psql "$(echo "$CREDENTIALS" | field uri)" -c 'SELECT current_database(), current_user'
