// Dark and light: the system's choice until the switch is used. Colours come from the style sheet, so that plots and
// text agree; the lines' are Okabe and Ito's, which the colour-blind tell apart, adjusted for each background.

type Theme = 'dark' | 'light';

const listeners: (() => void)[] = [];
const system = matchMedia('(prefers-color-scheme: dark)');
let chosen: Theme | null = null;

export function theme(): Theme {
  return chosen ?? (system.matches ? 'dark' : 'light');
}

export function switchTheme(): void {
  chosen = theme() === 'dark' ? 'light' : 'dark';
  apply();
}

/** What the page has chosen by other means; null for the system's choice. */
export function setTheme(to: Theme | null): void {
  chosen = to;
  apply();
}

/** Calls back after each change of colours. */
export function onThemeChange(listener: () => void): void {
  listeners.push(listener);
}

export function startTheme(): void {
  document.documentElement.dataset.theme = theme();
  system.addEventListener('change', () => chosen === null && apply());
}

function apply(): void {
  document.documentElement.dataset.theme = theme();
  for (const listener of listeners) listener();
}

/** A colour of the style sheet by its name without the dashes. */
export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const palette = ['line-1', 'line-2', 'line-3', 'line-4', 'line-5', 'line-6', 'line-7', 'line-8'];

/** How a line of some role is drawn; `index` tells lines of the same role apart. */
export function lineStyle(role: string, index: number): { color: string; dash?: number[]; width: number } {
  switch (role) {
    case 'success':
      return { color: 'line-1', width: 1.6 };
    case 'failure':
      return { color: 'line-2', width: 1.6 };
    case 'started':
      return { color: 'quiet', width: 1 };
    case 'asked':
      return { color: 'ink', dash: [2, 3], width: 1 };
    case 'dropped':
      return { color: 'line-4', dash: [6, 3], width: 1.4 };
    case 'users':
      return { color: 'line-5', dash: [8, 4], width: 1.2 };
    case 'p50':
      return { color: 'line-1', width: 1.6 };
    case 'p95':
      return { color: 'line-3', width: 1.4 };
    case 'p99':
      return { color: 'line-4', width: 1.4 };
    case 'max':
      return { color: 'line-5', width: 0.8 };
    case 'kind':
      return { color: palette[(index + 1) % palette.length] ?? 'line-2', width: 1.4 };
    case 'over-heat':
      return index > 0 ? { color: 'line-2', dash: [4, 3], width: 1.4 } : { color: 'ink', width: 1.4 };
    default: {
      const dash = index >= palette.length ? [6, 3] : undefined;
      return { color: palette[index % palette.length] ?? 'line-1', width: 1.4, ...(dash && { dash }) };
    }
  }
}
