// What people do with the pages. The Go test names the scenario, and makes what it finds.
import assert from "node:assert/strict";

import { Visitor, descriptionOf, launch } from "./visitor.mjs";

const scenarios = {
  async signIn(visit) {
    const person = await Visitor.open(visit);
    const { page } = person;
    await page.goto(visit.question);
    await person.reads("Sign in");
    assert.equal(await page.evaluate(() => document.activeElement.id), "key");
    await person.sees("asked to sign in", ["API key of a person", "It is not kept"]);
    await person.signIn("no key at all");
    await person.sees("wrong key", ["There is a problem", "This is no key that is valid now."]);
    const field = page.getByLabel("API key of a person");
    assert.equal(await field.getAttribute("aria-invalid"), "true");
    assert.match(await descriptionOf(field), /no key that is valid/);
    assert.equal(await field.inputValue(), "");
    await person.signIn(visit.agent);
    await person.sees("key of an agent", ["This is the key of an agent or a service."]);
    await person.signIn(visit.person);
    await person.reads("Which colour?");
    const [cookie] = await person.context.cookies();
    assert.equal(cookie.httpOnly, true);
    assert.equal(cookie.sameSite, "Strict");
    assert.ok(!cookie.value.includes(visit.person));
    await page.goto("/sign-in");
    await person.sees("signed in", ["You are signed in"]);
    await page.getByRole("button", { name: "Sign out" }).click();
    await person.reads("Sign in");
    assert.deepEqual(await person.context.cookies(), []);
    await page.goto(visit.question);
    await person.reads("Sign in");
  },

  // A link in a mail or a chat comes from another site, to which the cookie is not given.
  async fromElsewhere(visit) {
    const person = await Visitor.signedIn(visit);
    await person.context.route("http://chat.example/", (route) => route.fulfill({
      contentType: "text/html", body: `<a href="${visit.url}${visit.question}">Answer here</a>`,
    }));
    await person.page.goto("http://chat.example/");
    await person.page.getByRole("link", { name: "Answer here" }).click();
    await person.reads("Which colour?");
  },

  async everyField(visit) {
    const person = await Visitor.signedIn(visit);
    const { page } = person;
    await page.goto(visit.question);
    await person.sees("empty", ["What do you want?", "Some words. From 2 to 20 characters.", "Expires", "in 24 hours", "The time is in UTC."]);
    await fill(page);
    await person.sees("filled", ["A line"]);
    await person.accept();
    await person.reads("Set up Sandbox");
    await person.sees("job", ["Answered details.", "Done"]);
  },

  async phone(visit) {
    const phone = { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };
    const person = await Visitor.signedIn(visit, phone);
    const { page } = person;
    await page.goto(visit.question);
    await person.sees("question", ["What do you want?"]);
    await page.getByRole("button", { name: "Accept" }).tap();
    await person.sees("wrong answer", ["There is a problem"]);
    await fill(page);
    await page.getByRole("button", { name: "Accept" }).tap();
    await person.sees("job", ["Answered details.", "Done"]);
  },

  async wrongAnswer(visit) {
    const person = await Visitor.signedIn(visit);
    const { page } = person;
    await page.goto(visit.question);
    await page.getByLabel("A line").fill("x");
    await page.getByLabel("Count").fill("three");
    await page.getByLabel("Mail").fill("nobody");
    await person.accept();
    await person.sees("refused", ["There is a problem", "A line must have at least 2 characters.", "Sure is required."]);
    assert.match(await page.title(), /^Error: /);
    const summary = page.getByRole("group", { name: "There is a problem" });
    assert.ok(await summary.evaluate((element) => element === document.activeElement), "the summary has the focus");
    assert.deepEqual(await summary.getByRole("listitem").allTextContents(), [
      "A line must have at least 2 characters.", "Count must be of type integer.", "Sure is required.", "Mode is required.",
      "Many must have at least 1 item.", "Mail must have the format email.",
    ]);
    for (const [label, fault, value] of [["A line", /at least 2/, "x"], ["Count", /integer/, "three"], ["Mail", /email/, "nobody"]]) {
      const field = page.getByLabel(label);
      assert.equal(await field.getAttribute("aria-invalid"), "true", label);
      assert.match(await descriptionOf(field), fault);
      assert.equal(await field.inputValue(), value);
    }
    assert.match(await descriptionOf(page.getByRole("group", { name: "Sure" })), /Sure is required/);
    assert.equal(await page.getByLabel("City").getAttribute("aria-invalid"), null);
    const toSure = summary.getByRole("link", { name: "Sure is required." });
    await toSure.focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Space");
    assert.ok(await page.getByRole("group", { name: "Sure" }).getByLabel("Yes").isChecked(), "the link leads to the field");
    await page.goto(visit.question);
    await person.reads("What do you want?");
  },

  async largeAnswer(visit) {
    const person = await Visitor.signedIn(visit);
    await person.page.goto(visit.question);
    await person.page.getByLabel("Long text").evaluate((area) => { area.value = "x".repeat(3 << 20); });
    await person.accept();
    await person.sees("too large", ["Request Entity Too Large", "The body must be at most 1 MiB."]);
  },

  async secret(visit) {
    const person = await Visitor.signedIn(visit);
    const { page } = person;
    await page.goto(visit.question);
    await person.sees("asked", ["The answer is stored encrypted and is not shown again."]);
    const field = page.getByLabel("PIN");
    assert.equal(await field.getAttribute("type"), "password");
    await field.fill("77");
    await person.accept();
    await person.sees("refused", ["PIN must have at least 4 characters."]);
    assert.equal(await field.inputValue(), "");
    await field.fill("canary-7788");
    await person.accept();
    await person.sees("job", ["Answered details.", "Done"]);
    for (const path of [visit.job, visit.question]) {
      await page.goto(path);
      assert.ok(!(await page.content()).includes("canary-7788"), `${path} shows the secret`);
    }
  },

  async price(visit) {
    const person = await Visitor.signedIn(visit);
    await person.page.goto(visit.question);
    await person.sees("asked", ["5.00 USD per month", "Without an answer the job fails then."]);
    await person.accept();
    await person.sees("job", ["Answered confirm_cost."]);
  },

  async expired(visit) {
    const person = await Visitor.signedIn(visit);
    await person.page.goto(visit.question);
    await person.sees("question", ["This question has expired", "It takes no answer any more.", "Which colour?"]);
    await person.page.getByRole("link", { name: /^job_/ }).click();
    await person.sees("job", ["Failed", "question_expired", "The question colour expired."]);
  },

  async answered(visit) {
    const person = await Visitor.signedIn(visit);
    await person.page.goto(visit.question);
    await person.sees("question", ["This question is already answered", "The first answer counts"]);
    assert.equal(await person.page.getByRole("button", { name: "Accept" }).count(), 0);
  },

  async declined(visit) {
    const person = await Visitor.signedIn(visit);
    await person.page.goto(visit.question);
    await person.decline();
    await person.sees("job", ["Canceled", "Declined colour."]);
    await person.page.goto(visit.question);
    await person.sees("question", ["This question was declined", "The job was canceled for that"]);
  },

  async withdrawn(visit) {
    const person = await Visitor.signedIn(visit);
    await person.page.goto(visit.question);
    await person.sees("question", ["This question was withdrawn"]);
  },

  // Another tenant's is not there, and looks like what nobody has.
  async notFound(visit) {
    const stranger = await Visitor.signedIn(visit, { key: visit.stranger });
    const { page } = stranger;
    const shown = async (path) => {
      const answer = await page.goto(path);
      assert.equal(answer.status(), 404);
      return page.locator("body").innerText();
    };
    const none = "01h455vb4pex5vsknk084sn02q";
    for (const [name, path, nowhere] of [["question", visit.question, `/answer/qst_${none}`], ["job", visit.job, `/jobs/job_${none}`]]) {
      const text = await shown(path);
      await stranger.sees(name, ["Not Found", `There is no such ${name}, or it is not yours.`]);
      assert.equal(await shown(nowhere), text);
    }
    await shown("/jobs");
    await stranger.sees("no page", ["There is nothing at this path."]);
    assert.equal((await page.goto("/favicon.ico")).status(), 200);
  },

  async twoTabs(visit) {
    const person = await Visitor.signedIn(visit);
    const second = await person.tab();
    for (const tab of [person.page, second]) {
      await tab.goto(visit.question);
      await tab.getByLabel("colour").fill(tab === second ? "blue" : "red");
    }
    await person.accept();
    await person.reads("Set up Sandbox");
    await second.getByRole("button", { name: "Accept" }).click();
    await person.sees("second tab", ["This question is already answered", "The first answer counts"], second);
  },

  async liveJob(visit) {
    const person = await Visitor.signedIn(visit);
    const { page } = person;
    await page.goto(visit.job);
    await person.sees("waits", ["Waits for an answer", "Questions to answer", "Which colour?"]);
    await page.evaluate(() => { window.sameDocument = true; });
    const question = page.getByRole("link", { name: "Which colour?" });
    await question.focus();
    const other = await person.tab();
    await other.goto(visit.question);
    await other.getByLabel("colour").fill("red");
    await other.getByRole("button", { name: "Accept" }).click();
    await page.bringToFront();
    await page.locator(".state", { hasText: "Done" }).waitFor();
    await person.sees("done", ["Answered colour."]);
    assert.ok(await page.evaluate(() => window.sameDocument), "the page was not loaded again");
    assert.match(await page.title(), /^Done: /);
    assert.match(await page.getByRole("status").first().textContent(), /Done\./, "what is read out");
  },

  async withoutJavaScript(visit) {
    const person = await Visitor.signedIn(visit, { javaScriptEnabled: false });
    const { page } = person;
    await page.goto(visit.job);
    await person.sees("waits", ["Waits for an answer", "Which colour?"]);
    const other = await person.tab();
    await other.goto(visit.question);
    await other.getByLabel("colour").fill("red");
    await other.getByRole("button", { name: "Accept" }).click();
    await page.bringToFront();
    await page.locator(".state", { hasText: "Done" }).waitFor(); // after the page has loaded itself again
    await person.sees("done", ["Answered colour."]);
  },

  async working(visit) {
    const person = await Visitor.signedIn(visit);
    await person.page.goto(visit.job);
    await person.page.getByRole("progressbar", { name: "Progress" }).waitFor();
    await person.sees("working", ["Waits for the provider", "Step 1 of 3", "Ends at the latest", "A worker took it."]);
  },

  async failed(visit) {
    const person = await Visitor.signedIn(visit);
    await person.page.goto(visit.job);
    await person.sees("failed", ["Failed", "There is no <room>. (no_room) The same start would fail again."]);
  },
};

// fill fills every field of the question "every field".
async function fill(page) {
  await page.getByLabel("A line").fill("two words");
  await page.getByLabel("Count").fill("3");
  await page.getByRole("group", { name: "Sure" }).getByLabel("Yes").check();
  await page.getByRole("group", { name: "Mode" }).getByLabel("fast").check();
  for (const name of ["x", "z"]) {
    await page.getByRole("group", { name: "Many" }).getByLabel(name).check();
  }
  await page.getByLabel("City").selectOption("Fulda");
  await page.getByLabel("Day").fill("2026-02-28");
  await page.getByLabel("Link").fill("https://x.example/");
  await page.getByLabel("Long text").fill("one\ntwo");
  await page.getByLabel("Mail").fill("a@b.example");
  await page.getByLabel("Ratio").fill("1.25");
  await page.getByLabel("Time").fill("2026-02-28T12:30:00");
  await page.getByRole("group", { name: "Zone" }).getByLabel("Zone A").check();
}

const visit = JSON.parse(process.env.VISIT);
await launch(visit, scenarios[visit.scenario]);
