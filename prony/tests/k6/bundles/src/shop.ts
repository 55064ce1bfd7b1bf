export interface Item {
  name: string;
  cents: number;
}

const label = (item: Item): string => `𝒳 ${item.name}`;

/** Fails for what costs less than nothing, in three ways. */
export function price(item: Item, way: number): number {
  if (item.cents < 0) {
    const said = label(item); if (way === 0) throw new Error(`no price for ${said}`);
    if (way === 1) throw `a text about ${said}`;
    throw { toString: () => `an object about ${said}` };
  }
  return item.cents / 100;
}
