// A script in two files, as an author writes them before a bundler makes one of them.
import { check } from 'k6';
import { price, type Item } from './shop';

export const options = { iterations: 3 };

export default function (): void {
  const items: Item[] = [{ name: 'ä𝒳', cents: 120 }, { name: 'b', cents: -1 }];
  check(items, { 'there are items': (list) => list.length === 2 });
  for (const item of items) price(item, __ITER);
}
