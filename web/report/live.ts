// A page of a run that goes on: how far it is, a button that stops it, and the page drawn anew with what the run sends.
import { h } from '../shared/dom';
import { moment } from '../shared/format';
import type { LiveData, PageData } from './data';

/** To who cannot see it, figures are said so often at most. */
const saidEachMs = 15_000;
/** A button that ends a run is pressed twice within this time. */
const againMs = 5_000;
/** So long without the run, it is said to be gone. */
const goneMs = 8_000;

export function liveRun(page: PageData, draw: (page: PageData) => void): HTMLElement {
  const token = tokenOfPage();
  const state = h('span', { class: 'state' });
  const bar = h('progress', { max: '1' }) as HTMLProgressElement;
  const time = h('span', { class: 'value' });
  const note = h('p', { class: 'note' });
  const said = h('p', { class: 'unseen', role: 'status', 'aria-live': 'polite' });
  const stop = h('button', { type: 'button', class: 'stop', onclick: press }, 'Stop the run');
  const element = h('div', { class: 'live', role: 'region', 'aria-label': 'How far the run is' }, state, bar, time, token && stop, note, said);
  let [lastSaid, isOver, lostAt, armed] = [0, false, 0, 0];

  function show(word: string, kind: string, text = ''): void {
    state.textContent = word;
    element.className = `live ${kind}`;
    note.textContent = text;
  }

  function take(page: PageData): void {
    const { live } = page;
    if (!live) return;
    lostAt = 0;
    bar.value = live.end !== null ? 1 : live.duration_s > 0 ? Math.min(live.elapsed_s / live.duration_s, 1) : 0;
    time.textContent = live.duration_s > 0 ? `${moment(live.elapsed_s)} of ${moment(live.duration_s)}` : '';
    document.title = live.end === null ? `running: ${page.title}` : page.title;
    if (live.end !== null) end(live.end);
    else if (page.runs.length === 0) show('Starting', 'waiting', 'Figures come with the first second.');
    else if (live.elapsed_s >= live.duration_s) show('Ending', 'running', [live.step, 'Waiting for the last responses.'].filter(Boolean).join('; '));
    else show('Running', 'running', live.step);
    say(page, live);
  }

  function end(text: string): void {
    isOver = true;
    show('Ended', 'ended', text);
    stop.remove();
    events.close();
  }

  function say(page: PageData, live: LiveData): void {
    const now = Date.now();
    const run = page.runs[0];
    if (!run || (live.end === null && now - lastSaid < saidEachMs)) return;
    lastSaid = now;
    const failed = run.thresholds.filter(({ judgement }) => judgement === 'failed').map(({ text, measured }) => `${text} fails with ${measured}`);
    const figures = run.claims.map(({ term, value, unit }) => `${term} ${value} ${unit}`);
    const verdict = page.verdict ?? run.verdict;
    said.textContent = [live.end === null ? `After ${moment(live.elapsed_s)}` : 'The run has ended', verdict?.text, ...failed, ...figures].filter(Boolean).join('; ');
  }

  /** The first press asks, the second stops. */
  function press(): void {
    if (Date.now() - armed > againMs) {
      armed = Date.now();
      stop.textContent = 'Press again to stop it';
      setTimeout(() => (stop.textContent = 'Stop the run'), againMs);
      return;
    }
    fetch('/stop', { method: 'POST', headers: { authorization: `Bearer ${token}` } })
      .then(async (response) => {
        if (!response.ok) throw new Error(await response.text());
        stop.setAttribute('disabled', '');
        show('Stopping', 'running', 'What has begun is waited for; what was measured is kept.');
      })
      .catch((error: Error) => show('Running', 'running', `It is not stopped: ${error.message}`));
  }

  const events = new EventSource('/events');
  events.addEventListener('page', (event) => {
    const page = JSON.parse((event as MessageEvent<string>).data) as PageData;
    draw(page);
    take(page);
  });
  events.addEventListener('error', () => {
    if (isOver) return;
    lostAt ||= Date.now();
    // What the server refuses is not tried again by itself.
    const isGone = events.readyState === EventSource.CLOSED || Date.now() - lostAt > goneMs;
    const gone = 'The run cannot be reached any more, or as many pages of it are open as may be. This is what it said last.';
    show(isGone ? 'Gone' : 'Lost', 'lost', isGone ? gone : 'The connection to the run is lost, and is tried again.');
  });
  take(page);
  return element;
}

/** From the address, where links to sections would take its place; a tab that is loaded anew still has it. */
function tokenOfPage(): string | null {
  const given = /^#([0-9a-f]{32})$/.exec(location.hash)?.[1];
  if (given) {
    sessionStorage.setItem('token', given);
    history.replaceState(null, '', location.pathname);
  }
  return sessionStorage.getItem('token');
}
