// Keeps the page of a job current. It asks for the next version of the job; the server holds the
// request until there is one, so the sleep between two requests can be short.

const waitSeconds = 20;
const pauseMs = 500;
const longestPauseMs = 30_000;

const job = document.getElementById("job");
const news = document.getElementById("news");
const trouble = document.getElementById("trouble");

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// visible resolves once somebody looks at the page.
const visible = () => new Promise((resolve) => {
  const check = () => {
    if (document.visibilityState === "visible") {
      document.removeEventListener("visibilitychange", check);
      resolve();
    }
  };
  document.addEventListener("visibilitychange", check);
  check();
});

// show replaces what is shown and keeps the focus where it is.
function show(html) {
  const focused = document.activeElement?.id;
  const said = job.firstElementChild.dataset.news;
  job.replaceChildren(...new DOMParser().parseFromString(html, "text/html").body.children);
  const { dataset } = job.firstElementChild;
  document.title = `${dataset.title} · provisiond`;
  if (dataset.news !== said) {
    news.textContent = dataset.news;
  }
  if (focused) {
    document.getElementById(focused)?.focus();
  }
}

// poll asks once. It reports false where asking again is of no use.
async function poll() {
  const answer = await fetch(`${location.pathname}?fragment=1&wait=${waitSeconds}`, {
    cache: "no-store",
    headers: { "If-None-Match": job.firstElementChild.dataset.etag },
  });
  if (answer.status === 304) {
    return true;
  }
  if ([401, 403, 404].includes(answer.status)) {
    location.reload(); // the whole page says why
    return false;
  }
  if (!answer.ok) {
    throw new Error(`status ${answer.status}`);
  }
  show(await answer.text());
  return true;
}

let failures = 0;
while (!("final" in job.firstElementChild.dataset)) {
  await visible();
  let pause = pauseMs;
  try {
    if (!(await poll())) {
      break;
    }
    failures = 0;
    trouble.textContent = "";
  } catch {
    failures++;
    pause = Math.min(1000 * 2 ** failures, longestPauseMs) * (0.5 + Math.random() / 2);
    trouble.textContent = "The server does not answer. This page tries again by itself.";
  }
  await sleep(pause);
}
