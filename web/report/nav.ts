// Links to the sections of the page, of which the one that is read is marked. They stay in sight.
import { h } from '../shared/dom';

export interface Navigation {
  element: HTMLElement;
  /** Takes up the sections that there are now. */
  refresh: () => void;
}

export function navigation(main: HTMLElement): Navigation {
  const list = h('ul', {});
  const element = h('nav', { class: 'sections', 'aria-label': 'Sections' }, list);
  const links = new Map<Element, HTMLElement>();
  const seen = new Set<Element>();
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) seen.add(target);
        else seen.delete(target);
      }
      const first = [...links.keys()].find((section) => seen.has(section));
      for (const [section, link] of links) {
        if (section === first) link.setAttribute('aria-current', 'true');
        else link.removeAttribute('aria-current');
      }
    },
    { rootMargin: '-15% 0px -60% 0px' },
  );
  let shown: [section: HTMLElement, title: string][] = [];
  function refresh(): void {
    const now = [...main.querySelectorAll('section')].map((section): [HTMLElement, string] => [section, section.querySelector('h2')?.textContent ?? '']);
    // Links that stay keep their focus.
    if (now.length === shown.length && now.every(([section, title], place) => section === shown[place]?.[0] && title === shown[place][1])) return;
    shown = now;
    observer.disconnect();
    links.clear();
    seen.clear();
    const items = now.map(([section, title]) => {
      section.id ||= `section-${links.size}-${section.className}`;
      const link = h('a', { href: `#${section.id}` }, title);
      links.set(section, link);
      observer.observe(section);
      return h('li', {}, link);
    });
    list.replaceChildren(...items);
    element.hidden = items.length < 2;
  }
  return { element, refresh };
}
