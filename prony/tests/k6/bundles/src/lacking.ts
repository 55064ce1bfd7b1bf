// A script that asks for what is not there.
import http from 'k6/http';

const prices: string = open('./absent.txt');

export default function (): void {
  http.gett(`http://shop.test/${prices}`);
}
