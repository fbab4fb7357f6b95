import { type SVGTemplateResult, svg } from "lit";

export const icon = (paths: SVGTemplateResult): SVGTemplateResult => svg`
  <svg class="icon" viewBox="0 0 24 24" width="20" height="20" fill="none" stroke="currentColor" stroke-width="1.9"
    stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${paths}</svg>`;

export const icons = {
  chat: icon(
    svg`<path d="M21 11.5a8.4 8.4 0 0 1-8.5 8.3 8.7 8.7 0 0 1-3.9-.9L3 20.5l1.7-4.6a8 8 0 0 1-1.2-4.4 8.4 8.4 0 0 1 8.5-8.3h.5a8.4 8.4 0 0 1 8.5 8.3z"/>`,
  ),
  close: icon(svg`<path d="M6 6l12 12M18 6L6 18"/>`),
  down: icon(svg`<path d="M12 5v14M6 13l6 6 6-6"/>`),
  send: icon(svg`<path d="M12 19V5M6 11l6-6 6 6"/>`),
  stop: svg`<svg class="icon" viewBox="0 0 24 24" width="20" height="20" aria-hidden="true"><rect x="7" y="7" width="10" height="10" rx="2" fill="currentColor"/></svg>`,
  attach: icon(
    svg`<path d="M20 11.5l-8.4 8.4a5.2 5.2 0 0 1-7.4-7.4l8.6-8.5a3.5 3.5 0 0 1 4.9 4.9l-8.5 8.5a1.7 1.7 0 0 1-2.4-2.5l7.8-7.8"/>`,
  ),
  file: icon(svg`<path d="M14 3H7a2 2 0 0 0-2 2v14a2 2 0 0 0 2 2h10a2 2 0 0 0 2-2V8zM14 3v5h5"/>`),
  copy: icon(svg`<rect x="9" y="9" width="11" height="11" rx="2"/><path d="M5 15H4V4h11v1"/>`),
  edit: icon(svg`<path d="M4 20l1-4L16.500 4.500a2.100 2.100 0 0 1 3 3L8 19z"/>`),
  again: icon(svg`<path d="M19.500 12a7.500 7.500 0 1 1-2.200-5.300L20 9M20 4v5h-5"/>`),
  previous: icon(svg`<path d="M14.500 6l-6 6 6 6"/>`),
  next: icon(svg`<path d="M9.500 6l6 6-6 6"/>`),
  check: icon(svg`<path d="M5 12.5l4.5 4.5L19 7.5"/>`),
  alert: icon(svg`<path d="M12 8v5M12 16.5v.01"/><circle cx="12" cy="12" r="9"/>`),
  clock: icon(svg`<circle cx="12" cy="12" r="9"/><path d="M12 7v5l3 2"/>`),
  compose: icon(
    svg`<path d="M12 5H6a2 2 0 0 0-2 2v11a2 2 0 0 0 2 2h11a2 2 0 0 0 2-2v-6M18.4 3.6a2 2 0 0 1 2.9 2.9L12.5 15.300l-3.800 1 1-3.800z"/>`,
  ),
  list: icon(svg`<path d="M5 7h14M5 12h14M5 17h9"/>`),
  good: icon(
    svg`<path d="M7 11v9H4v-9zM7 11l4-8a2 2 0 0 1 3 2l-1 4h5a2 2 0 0 1 2 2.500l-1.800 7a2 2 0 0 1-2 1.500H7"/>`,
  ),
  bad: icon(svg`<path d="M7 13V4H4v9zM7 13l4 8a2 2 0 0 0 3-2l-1-4h5a2 2 0 0 0 2-2.500l-1.800-7a2 2 0 0 0-2-1.500H7"/>`),
  end: icon(svg`<circle cx="12" cy="12" r="9"/><path d="M8.500 12h7"/>`),
};
