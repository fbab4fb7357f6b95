/**
 * Submits a form by an event alone. A frame that is sandboxed without `allow-forms` blocks the browser's own submission
 * before any event, and nothing here needs more than the event. Shows the first invalid field instead if there is one.
 */
export function submit(form: HTMLFormElement | null): void {
  if (form?.reportValidity()) form.dispatchEvent(new SubmitEvent("submit", { cancelable: true }));
}

/** Submits the form of a clicked submit button. Enter in a field clicks that button, too. Forms of the page itself, in a slot, stay as they are. */
export function submitByClick(event: Event): void {
  const button = (event.target as Element).closest<HTMLButtonElement>("button[type=submit]");
  if (!button?.form || button.getRootNode() !== (event.currentTarget as Element).getRootNode()) return;
  event.preventDefault();
  submit(button.form);
}
