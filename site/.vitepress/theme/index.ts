// The default look with the system's own letters, so that nothing is fetched for them.
import Theme from 'vitepress/theme-without-fonts';
import './style.css';

export default Theme;
