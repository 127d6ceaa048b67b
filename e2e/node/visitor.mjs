// A person with a browser. Whatever page they come to, `sees` holds what all pages promise.
import assert from "node:assert/strict";
import path from "node:path";

import { AxeBuilder } from "@axe-core/playwright";
import { chromium } from "playwright-core";

const patienceMs = 30_000;

// launch starts a browser; `run` gets it with what the Go test said, and it is closed at the end.
export async function launch(visit, run) {
  const browser = await chromium.launch({ executablePath: visit.chromium, args: ["--no-sandbox"] });
  try {
    await run({ ...visit, browser });
  } finally {
    await browser.close();
  }
}

export class Visitor {
  #complaints = [];
  #pictures = 0;

  // open is a visitor with a browser profile of their own, such as {viewport} or {javaScriptEnabled}.
  static async open(visit, profile = {}) {
    const visitor = new Visitor();
    visitor.visit = visit;
    visitor.hasScripts = profile.javaScriptEnabled ?? true;
    visitor.context = await visit.browser.newContext({ baseURL: visit.url, ...profile });
    visitor.context.setDefaultTimeout(patienceMs);
    visitor.page = await visitor.tab();
    return visitor;
  }

  // signedIn is a visitor who has signed in with the key, the person's by default.
  static async signedIn(visit, { key = visit.person, ...profile } = {}) {
    const visitor = await Visitor.open(visit, profile);
    await visitor.page.goto("/sign-in");
    await visitor.signIn(key);
    await visitor.reads("You are signed in");
    return visitor;
  }

  async signIn(key) {
    await this.page.getByLabel("API key of a person").fill(key);
    await this.page.getByRole("button", { name: "Sign in" }).click();
  }

  // tab opens one more page and notes what the browser complains of there.
  async tab() {
    const page = await this.context.newPage();
    page.on("pageerror", (error) => this.#complaints.push(`script: ${error}`));
    page.on("console", (message) => {
      // The status of the page itself is the scenario's to judge; that of what it loads is judged below.
      if (["error", "warning"].includes(message.type()) && !message.text().startsWith("Failed to load resource")) {
        this.#complaints.push(`console: ${message.text()}`);
      }
    });
    page.on("response", (response) => {
      if (response.status() >= 400 && response.request().resourceType() !== "document") {
        this.#complaints.push(`${response.status()} for ${response.url()}`);
      }
    });
    return page;
  }

  // reads waits for a heading.
  async reads(heading, page = this.page) {
    await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
  }

  // sees waits for texts that the page shows, and checks and photographs it, by day and by night.
  async sees(name, texts, page = this.page) {
    for (const text of texts) {
      await page.getByText(text).first().waitFor();
    }
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      const picture = `${String(++this.#pictures).padStart(2, "0")} ${name} ${colorScheme}.png`;
      await page.screenshot({ path: path.join(this.visit.artifacts, picture), fullPage: true });
      if (this.hasScripts) { // axe is one itself: without them it never ends
        await this.#isAccessible(page, `${name}, ${colorScheme}`);
      }
    }
    const [wanted, there] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
    assert.ok(wanted <= there, `${name} is ${wanted} px wide where there are ${there}`);
    assert.match(await page.title(), / · provisiond$/);
    assert.deepEqual(this.#complaints, [], `${name}: the browser complains`);
  }

  async #isAccessible(page, name) {
    const builder = new AxeBuilder({ page }).options({ rules: { "target-size": { enabled: true } } });
    const { violations } = await builder.analyze();
    const found = violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.html).join(" ")}`);
    assert.deepEqual(found, [], `${name}: axe finds faults`);
  }

  async accept() {
    await this.page.getByRole("button", { name: "Accept" }).click();
  }

  async decline() {
    await this.page.getByRole("button", { name: "Decline" }).click();
  }
}

// describes is the text that a control's aria-describedby leads to.
export const descriptionOf = (control) => control.evaluate((element) =>
  (element.getAttribute("aria-describedby") ?? "").split(/\s+/).filter(Boolean)
    .map((id) => document.getElementById(id).textContent).join(" "));
