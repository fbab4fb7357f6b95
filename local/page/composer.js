// Where the user writes: text that grows, Enter that sends, files that wait for it.

import { byId, element, show } from "./elements.js";
import { contentOf } from "./files.js";

const TALLEST = 200; // pixels
let drafts = 0; // how many have been sent or taken away

/** Calls `send(content)` for each message; `upload(file, contentType)` makes a part of a file too large to go inside. */
export function readComposer(send, upload) {
  byId("composer").onsubmit = async (event) => {
    event.preventDefault();
    const text = byId("text").value.trim();
    const files = [...byId("files").files];
    if (!text && !files.length) return;
    const asked = drafts;
    byId("send").disabled = true;
    try {
      const content = await contentOf(text, files, upload);
      if (asked !== drafts) return; // somebody else writes here by now
      clearComposer();
      send(content);
    } catch (error) {
      if (asked === drafts) show("problem", error.message);
    } finally {
      byId("send").disabled = false;
      byId("text").focus();
    }
  };
  byId("text").oninput = fitText;
  byId("text").onkeydown = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    byId("composer").requestSubmit();
  };
  byId("files").onchange = drawAttached;
}

/** Takes the text and the files away, also those that are still being read. */
export function clearComposer() {
  drafts += 1;
  byId("composer").reset();
  drawAttached();
  fitText();
}

function drawAttached() {
  byId("attached").replaceChildren(...Array.from(byId("files").files, (file) => element("li", file.name)));
}

function fitText() {
  byId("text").style.height = "auto";
  byId("text").style.height = `${Math.min(byId("text").scrollHeight, TALLEST)}px`;
}
