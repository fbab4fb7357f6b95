/** The one place where text becomes HTML for the browser to parse; what comes here is sanitised by what takes it. */
export const policy = window.trustedTypes?.createPolicy("baton-chat", {
  createHTML: (html) => html,
  createScriptURL: () => {
    throw new TypeError("Nothing here loads scripts by address.");
  },
});
